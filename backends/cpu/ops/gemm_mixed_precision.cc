// Blocks of A and B are rounded into workspace, and multiplied in f32: products of two 11-bit
// factors are exact there.
#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/matrix_product.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Large enough that rounding a block costs little beside multiplying it, small enough for the
// workspace a device keeps: two blocks take 6 MiB.
constexpr std::int64_t kBlockRows = 1536;
constexpr std::int64_t kBlockDepth = 512;

constexpr std::int64_t kRoundedPerThread = 16 * 1024;

// A block of a column-major matrix as stored.
struct Block {
  const float* data;
  std::int64_t ld;
  std::int64_t rows;
  std::int64_t columns;
};

// The block of op(X) at (row, column) as it is stored.
Block StoredBlock(const float* data, std::int64_t ld, Transpose transpose, std::int64_t row,
                  std::int64_t column, std::int64_t rows, std::int64_t columns) {
  if (transpose == Transpose::kNone) return {data + row + column * ld, ld, rows, columns};
  return {data + column + row * ld, ld, columns, rows};
}

ACCELD_MULTIVERSION void RoundColumnToF16(const float* source, float* target, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) target[i] = RoundToF16(source[i]);
}

ACCELD_MULTIVERSION void RoundColumnToBf16(const float* source, float* target, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) target[i] = RoundToBf16(source[i]);
}

// Writes the block, rounded, to [rows, columns] adjacent elements.
void RoundBlock(const Block& block, MixedPrecision precision, float* target, int threads) {
  const std::int64_t grain = std::max<std::int64_t>(1, kRoundedPerThread / block.rows);
  const auto round = precision == MixedPrecision::kF16 ? RoundColumnToF16 : RoundColumnToBf16;
  ParallelFor(threads, block.columns, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      round(block.data + j * block.ld, target + j * block.rows, block.rows);
    }
  });
}

}  // namespace

absl::Status Run(const ops::GemmMixedPrecision& op, CpuContext& context) {
  MatrixProduct<float> product{
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
  if (op.m == 0 || op.n == 0 || op.k == 0 || op.alpha == 0) {
    Multiply(product, context.threads());
    return absl::OkStatus();
  }

  const std::int64_t block_m = std::min(op.m, kBlockRows);
  const std::int64_t block_n = std::min(op.n, kBlockRows);
  const std::int64_t block_k = std::min(op.k, kBlockDepth);
  ACCELD_ASSIGN_OR_RETURN(
      std::byte* const workspace,
      context.Workspace(static_cast<std::uint64_t>((block_m + block_n) * block_k) * sizeof(float)));
  float* const a = reinterpret_cast<float*>(workspace);
  float* const b = a + block_m * block_k;
  for (std::int64_t j = 0; j < op.n; j += block_n) {
    for (std::int64_t p = 0; p < op.k; p += block_k) {
      product.n = std::min(block_n, op.n - j);
      product.k = std::min(block_k, op.k - p);
      product.beta = p == 0 ? op.beta : 1;
      const Block stored_b = StoredBlock(Pointer<const float>(op.b), op.ldb, op.transpose_b, p, j,
                                         product.k, product.n);
      RoundBlock(stored_b, op.precision, b, context.threads());
      product.b = b;
      product.ldb = stored_b.rows;
      for (std::int64_t i = 0; i < op.m; i += block_m) {
        product.m = std::min(block_m, op.m - i);
        const Block stored_a = StoredBlock(Pointer<const float>(op.a), op.lda, op.transpose_a, i, p,
                                           product.m, product.k);
        RoundBlock(stored_a, op.precision, a, context.threads());
        product.a = a;
        product.lda = stored_a.rows;
        product.c = Pointer<float>(op.c) + i + j * op.ldc;
        Multiply(product, context.threads());
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace acceld::cpu
