#include "backends/ops/gemm_checks.h"

#include <algorithm>

#include "backends/core/status.h"
#include "backends/ops/check_enum.h"
#include "backends/ops/shape.h"

namespace acceld {
namespace {

absl::Status CheckLeadingDimension(std::int64_t ld, std::int64_t rows, std::string_view op_name,
                                   std::string_view argument) {
  return CheckDimension(ld, std::max<std::int64_t>(1, rows), op_name, argument);
}

}  // namespace

absl::Status CheckGemmSizes(const GemmSizes& sizes, bool reads_factors, std::string_view op_name) {
  ACCELD_RETURN_IF_ERROR(CheckEnum(sizes.transpose_a, op_name, "transpose_a"));
  ACCELD_RETURN_IF_ERROR(CheckEnum(sizes.transpose_b, op_name, "transpose_b"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(sizes.m, 0, op_name, "m"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(sizes.n, 0, op_name, "n"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(sizes.k, 0, op_name, "k"));
  ACCELD_RETURN_IF_ERROR(CheckLeadingDimension(sizes.lda, sizes.RowsA(), op_name, "lda"));
  ACCELD_RETURN_IF_ERROR(CheckLeadingDimension(sizes.ldb, sizes.RowsB(), op_name, "ldb"));
  ACCELD_RETURN_IF_ERROR(CheckLeadingDimension(sizes.ldc, sizes.m, op_name, "ldc"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(sizes.stride_a, 0, op_name, "stride_a"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(sizes.stride_b, 0, op_name, "stride_b"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(sizes.stride_c, 0, op_name, "stride_c"));
  ACCELD_RETURN_IF_ERROR(CheckDimension(sizes.batch, 0, op_name, "batch"));

  Address unused = 0;
  for (const Operand& operand :
       GemmOperands(sizes, reads_factors, /*beta_is_zero=*/false, unused, unused, unused)) {
    ACCELD_RETURN_IF_ERROR(CheckByteCount(operand.ExtentBytes(), op_name, operand.name));
  }
  return absl::OkStatus();
}

OperandList GemmOperands(const GemmSizes& sizes, bool reads_factors, bool beta_is_zero, Address& a,
                         Address& b, Address& c) {
  const std::int64_t batch = sizes.batch;
  const std::int64_t factor_batch = reads_factors ? batch : 0;
  return {MatrixOperand("a", a, Access::kRead, sizes.RowsA(), sizes.ColumnsA(), sizes.lda,
                        sizes.element_bytes, sizes.stride_a, factor_batch),
          MatrixOperand("b", b, Access::kRead, sizes.RowsB(), sizes.ColumnsB(), sizes.ldb,
                        sizes.element_bytes, sizes.stride_b, factor_batch),
          MatrixOperand("c", c, beta_is_zero ? Access::kWrite : Access::kReadWrite, sizes.m,
                        sizes.n, sizes.ldc, sizes.element_bytes, sizes.stride_c, batch)};
}

double GemmFlops(const GemmSizes& sizes, bool reads_factors) {
  const double outputs = static_cast<double>(sizes.batch) * static_cast<double>(sizes.m) *
                         static_cast<double>(sizes.n);
  return outputs * (reads_factors ? 2 * static_cast<double>(sizes.k) + 1 : 1);
}

}  // namespace acceld
