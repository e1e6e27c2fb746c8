#include "backends/cpu/ops/row_major_product.h"

#include <dnnl.h>
#include <fmt/format.h>

#include "backends/core/status.h"

namespace acceld::cpu {

absl::Status Multiply(const RowMajorProduct& p) {
  const auto letter = [](Transpose transpose) { return transpose == Transpose::kNone ? 'N' : 'T'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(p.transpose_a), letter(p.transpose_b), p.m, p.n, p.k, /*alpha=*/1, p.a,
                 p.lda, p.b, p.ldb, p.beta, p.c, p.ldc);
  if (status == dnnl_success) return absl::OkStatus();
  if (status == dnnl_out_of_memory) {
    return OutOfMemory("The host has no memory left for oneDNN's product.");
  }
  return DeviceError(
      fmt::format("oneDNN's product failed with status {}.", static_cast<int>(status)));
}

}  // namespace acceld::cpu
