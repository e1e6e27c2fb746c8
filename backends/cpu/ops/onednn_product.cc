#include "backends/cpu/ops/onednn_product.h"

#include <dnnl.h>
#include <fmt/format.h>

#include "backends/core/status.h"

namespace acceld::cpu {

bool HasFastOneDnnProduct() {
  static const bool has =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return has;
}

absl::Status MultiplyByOneDnn(const MatrixProduct<float>& p) {
  const auto letter = [](Transpose transpose) { return transpose == Transpose::kNone ? 'N' : 'T'; };
  // Its matrices are row-major: C^T = op(B)^T op(A)^T.
  const dnnl_status_t status = dnnl_sgemm(letter(p.transpose_b), letter(p.transpose_a), p.n, p.m,
                                          p.k, p.alpha, p.b, p.ldb, p.a, p.lda, p.beta, p.c, p.ldc);
  if (status == dnnl_success) return absl::OkStatus();
  if (status == dnnl_out_of_memory) {
    return OutOfMemory("The host has no memory left for oneDNN's product.");
  }
  return DeviceError(
      fmt::format("oneDNN's product failed with status {}.", static_cast<int>(status)));
}

}  // namespace acceld::cpu
