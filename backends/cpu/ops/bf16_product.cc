#include "backends/cpu/ops/bf16_product.h"

#include <dnnl.hpp>

#include "backends/cpu/ops/onednn_engine.h"
#include "backends/cpu/ops/onednn_matrix.h"

namespace acceld::cpu {

using dnnl::memory;

bool HasNativeBf16() {
  static const bool has = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
                          dnnl_cpu_isa_avx512_core_bf16;
  return has;
}

// oneDNN keeps the primitives it has made in a cache of its own.
bool MultiplyBf16(const MatrixProduct<float>& p, const std::uint16_t* a, const std::uint16_t* b) {
  try {
    using enum memory::data_type;
    // C^T = op(B)^T op(A)^T.
    const memory::desc b_layout = RowMajorMatrix(p.k, p.n, p.ldb, p.transpose_b, bf16);
    const memory::desc a_layout = RowMajorMatrix(p.m, p.k, p.lda, p.transpose_a, bf16);
    const memory::desc c_layout = RowMajorMatrix(p.m, p.n, p.ldc, Transpose::kNone, f32);
    dnnl::primitive_attr attributes;
    if (p.alpha != 1) attributes.set_output_scales(0, {p.alpha});
    if (p.beta != 0) {
      dnnl::post_ops add;
      add.append_sum(p.beta);
      attributes.set_post_ops(add);
    }
    const dnnl::matmul product({{b_layout, a_layout, c_layout}, attributes, Engine()});
    dnnl::stream stream(Engine());
    product.execute(stream,
                    {{DNNL_ARG_SRC, {b_layout, Engine(), const_cast<std::uint16_t*>(b)}},
                     {DNNL_ARG_WEIGHTS, {a_layout, Engine(), const_cast<std::uint16_t*>(a)}},
                     {DNNL_ARG_DST, {c_layout, Engine(), p.c}}});
    stream.wait();
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace acceld::cpu
