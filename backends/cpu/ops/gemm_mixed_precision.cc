// Blocks of A and B are rounded into workspace, and multiplied in f32: products of two 11-bit
// factors are exact there. Thin products are rounded on the way to their kernels. Where the
// processor multiplies bf16, blocks of it are left to that, unless they have subnormal numbers,
// which it takes for 0.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "backends/core/status.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/bf16_product.h"
#include "backends/cpu/ops/matrix_product.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/rounded_block.h"
#include "backends/cpu/ops/thin_product.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Large enough that rounding a block costs little beside multiplying it, small enough for the
// workspace a device keeps: two blocks take 6 MiB, and 3 MiB more in bf16.
constexpr std::int64_t kBlockElements = 1536 * 512;
constexpr std::int64_t kBlockDepth = 512;

// A block of few rows is deeper, up to so many elements, so that a long sum is not made of many
// small products, and threads share the rounding.
constexpr std::int64_t kNarrowBlockElements = 128 * 1024;

constexpr std::int64_t kRoundedPerThread = 16 * 1024;

// Below this many multiplications, what oneDNN does around a product costs too much. Of fewer rows,
// columns or depth it has no good kernel.
constexpr double kNativeMultiplications = 200.0 * 200 * 200;
constexpr std::int64_t kNativeSide = 32;

// The block of op(X) at (row, column) as it is stored.
Block<float> StoredBlock(const float* data, std::int64_t ld, Transpose transpose, std::int64_t row,
                         std::int64_t column, std::int64_t rows, std::int64_t columns) {
  if (transpose == Transpose::kNone) return {data + row + column * ld, ld, rows, columns};
  return {data + column + row * ld, ld, columns, rows};
}

// Calls body(part, offset) for parts that together are the block, the first element of each being
// the block's `offset`-th: whole columns, or some rows of one.
void ForEachPart(Block<float> block, int threads,
                 absl::FunctionRef<void(const Block<float>& part, std::int64_t offset)> body) {
  const std::int64_t count = block.rows * block.columns;
  if (block.ld == block.rows) block = {block.data, count, count, 1};
  ParallelFor(threads, count, kRoundedPerThread, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t row = begin % block.rows;
      const std::int64_t columns = row == 0 ? (end - begin) / block.rows : 0;
      Block<float> part{block.data + begin / block.rows * block.ld + row, block.ld, block.rows,
                        columns};
      if (columns == 0) {
        part.rows = std::min(block.rows - row, end - begin);
        part.columns = 1;
      }
      body(part, begin);
      begin += part.rows * part.columns;
    }
  });
}

// Writes the block, rounded, to [rows, columns] adjacent elements.
void RoundBlock(const Block<float>& block, MixedPrecision precision, float* target, int threads) {
  ForEachPart(block, threads, [&](const Block<float>& part, std::int64_t offset) {
    CopyBlock(part, precision, target + offset);
  });
}

// Likewise as bf16. False where any is subnormal.
bool PackBlockAsBf16(const Block<float>& block, std::uint16_t* target, int threads) {
  std::atomic<bool> subnormals = false;
  ForEachPart(block, threads, [&](const Block<float>& part, std::int64_t offset) {
    if (CopyBlockAsBf16(part, target + offset)) {
      subnormals.store(true, std::memory_order_relaxed);
    }
  });
  return !subnormals.load(std::memory_order_relaxed);
}

bool IsNative(const ops::GemmMixedPrecision& op) {
  return op.precision == MixedPrecision::kBf16 && HasNativeBf16() &&
         std::min({op.m, op.n, op.k}) >= kNativeSide &&
         static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.k) >=
             kNativeMultiplications;
}

// Without factors.
MatrixProduct<float> ToProduct(const ops::GemmMixedPrecision& op) {
  return {
      .transpose_a = op.transpose_a,
      .transpose_b = op.transpose_b,
      .m = op.m,
      .n = op.n,
      .k = op.k,
      .alpha = op.alpha,
      .a = nullptr,
      .lda = op.lda,
      .b = nullptr,
      .ldb = op.ldb,
      .beta = op.beta,
      .c = Pointer<float>(op.c),
      .ldc = op.ldc,
  };
}

}  // namespace

absl::Status Run(const ops::GemmMixedPrecision& op, CpuContext& context) {
  MatrixProduct<float> product = ToProduct(op);
  const int threads = context.threads();
  if (op.m == 0 || op.n == 0 || op.k == 0 || op.alpha == 0) {
    return Multiply(product, threads);
  }

  const bool native = IsNative(op);
  if (!native && IsThin(op.m, op.n, op.k)) {
    product.a = Pointer<const float>(op.a);
    product.b = Pointer<const float>(op.b);
    return MultiplyThin(product, op.precision, threads);
  }

  const std::int64_t most_rows = kBlockElements / std::min(op.k, kBlockDepth);
  const std::int64_t block_m = std::min(op.m, most_rows);
  const std::int64_t block_n = std::min(op.n, most_rows);
  const std::int64_t block_k =
      std::min(op.k, std::max(kBlockDepth, kNarrowBlockElements / std::max(block_m, block_n)));
  const std::int64_t elements = (block_m + block_n) * block_k;
  ACCELD_ASSIGN_OR_RETURN(
      std::byte* const workspace,
      context.Workspace(static_cast<std::uint64_t>(elements) *
                        (sizeof(float) + (native ? sizeof(std::uint16_t) : 0))));
  float* const a = reinterpret_cast<float*>(workspace);
  float* const b = a + block_m * block_k;
  std::uint16_t* const native_a = reinterpret_cast<std::uint16_t*>(a + elements);
  std::uint16_t* const native_b = native_a + block_m * block_k;
  for (std::int64_t j = 0; j < op.n; j += block_n) {
    for (std::int64_t p = 0; p < op.k; p += block_k) {
      product.n = std::min(block_n, op.n - j);
      product.k = std::min(block_k, op.k - p);
      product.beta = p == 0 ? op.beta : 1;
      const Block<float> stored_b = StoredBlock(Pointer<const float>(op.b), op.ldb, op.transpose_b,
                                                p, j, product.k, product.n);
      product.b = b;
      product.ldb = stored_b.rows;
      const bool b_packed = native && PackBlockAsBf16(stored_b, native_b, threads);
      bool b_rounded = false;
      for (std::int64_t i = 0; i < op.m; i += block_m) {
        product.m = std::min(block_m, op.m - i);
        product.c = Pointer<float>(op.c) + i + j * op.ldc;
        const Block<float> stored_a = StoredBlock(Pointer<const float>(op.a), op.lda,
                                                  op.transpose_a, i, p, product.m, product.k);
        product.a = a;
        product.lda = stored_a.rows;
        if (b_packed && PackBlockAsBf16(stored_a, native_a, threads)) {
          const absl::Status status = MultiplyBf16(product, native_a, native_b);
          if (status.ok()) continue;
          if (!absl::IsUnimplemented(status)) return status;
        }
        if (!b_rounded) RoundBlock(stored_b, op.precision, b, threads);
        b_rounded = true;
        RoundBlock(stored_a, op.precision, a, threads);
        ACCELD_RETURN_IF_ERROR(Multiply(product, threads));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
