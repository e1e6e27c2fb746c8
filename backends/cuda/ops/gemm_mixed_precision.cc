// Blocks of A and B are rounded into workspace, and multiplied on tensor cores with f32 sums.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/in_pieces.h"
#include "backends/cuda/ops/matrix_product.h"
#include "backends/cuda/ops/pointers.h"

namespace acceld::cuda {
namespace {

// Of a block of C, and of the depth that is rounded at a time: large enough that no product is
// slower for it, small enough that the rounded blocks of A and B take 128 MiB each at most.
constexpr std::int64_t kBlockSize = 8192;

// Columns of a rounded block begin at addresses that tensor cores take best: 16 bytes.
constexpr std::int64_t kLdMultiple = 8;

// A factor: column-major as stored, of f32.
struct Factor {
  const float* data;
  std::int64_t ld;
  Transpose transpose;
};

// A block of it, rounded to 16 bits.
struct RoundedBlock {
  std::uint16_t* data;
  std::int64_t ld;
};

std::int64_t RoundedLd(std::int64_t rows) {
  return (rows + kLdMultiple - 1) / kLdMultiple * kLdMultiple;
}

// The elements of any rounded block of a factor of which a block is at most [rows, columns].
std::int64_t RoundedElements(Transpose transpose, std::int64_t rows, std::int64_t columns) {
  return IsTransposed(transpose) ? RoundedLd(columns) * rows : RoundedLd(rows) * columns;
}

// Rounds the block of op(factor) at (row, column), as it is stored.
absl::Status RoundBlock(const Factor& factor, MixedPrecision precision, std::int64_t row,
                        std::int64_t column, std::int64_t rows, std::int64_t columns,
                        RoundedBlock& target, CudaContext& context) {
  if (IsTransposed(factor.transpose)) {
    std::swap(row, column);
    std::swap(rows, columns);
  }
  target.ld = RoundedLd(rows);
  return context.Launch(RoundKernel(precision, rows, columns,
                                    factor.data + row + column * factor.ld, factor.ld, target.data,
                                    target.ld));
}

}  // namespace

absl::Status Run(const ops::GemmMixedPrecision& op, CudaContext& context) {
  return RunInBlocks(op, kBlockSize, context);
}

absl::Status RunInBlocks(const ops::GemmMixedPrecision& op, std::int64_t block_size,
                         CudaContext& context) {
  GemmCall call{
      .type = GemmType::kF32,
      .transpose_a = IsTransposed(op.transpose_a),
      .transpose_b = IsTransposed(op.transpose_b),
      .m = op.m,
      .n = op.n,
      .k = op.k,
      .alpha = op.alpha,
      .beta = op.beta,
      .c = Pointer<void>(op.c),
      .ldc = op.ldc,
  };
  if (op.m == 0 || op.n == 0 || op.k == 0 || op.alpha == 0) return Multiply(call, context);

  call.type = op.precision == MixedPrecision::kF16 ? GemmType::kF16 : GemmType::kBf16;
  const Factor factor_a{Pointer<const float>(op.a), op.lda, op.transpose_a};
  const Factor factor_b{Pointer<const float>(op.b), op.ldb, op.transpose_b};
  const std::int64_t block_m = std::min(op.m, block_size);
  const std::int64_t block_n = std::min(op.n, block_size);
  const std::int64_t block_k = std::min(op.k, block_size);
  const auto rounded_workspace = [&](std::int64_t elements) {
    return context.Workspace(static_cast<std::uint64_t>(elements) * sizeof(std::uint16_t));
  };
  ACCELD_ASSIGN_OR_RETURN(std::byte* const memory_a,
                          rounded_workspace(RoundedElements(op.transpose_a, block_m, block_k)));
  ACCELD_ASSIGN_OR_RETURN(std::byte* const memory_b,
                          rounded_workspace(RoundedElements(op.transpose_b, block_k, block_n)));
  RoundedBlock a{reinterpret_cast<std::uint16_t*>(memory_a), 0};
  RoundedBlock b{reinterpret_cast<std::uint16_t*>(memory_b), 0};
  for (std::int64_t j = 0; j < op.n; j += block_n) {
    for (std::int64_t p = 0; p < op.k; p += block_k) {
      call.n = std::min(block_n, op.n - j);
      call.k = std::min(block_k, op.k - p);
      call.beta = p == 0 ? op.beta : 1;
      ACCELD_RETURN_IF_ERROR(RoundBlock(factor_b, op.precision, p, j, call.k, call.n, b, context));
      for (std::int64_t i = 0; i < op.m; i += block_m) {
        call.m = std::min(block_m, op.m - i);
        ACCELD_RETURN_IF_ERROR(
            RoundBlock(factor_a, op.precision, i, p, call.m, call.k, a, context));
        call.a = a.data;
        call.lda = a.ld;
        call.b = b.data;
        call.ldb = b.ld;
        call.c = Pointer<float>(op.c) + i + j * op.ldc;
        ACCELD_RETURN_IF_ERROR(context.Gemm(call));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace acceld::cuda
