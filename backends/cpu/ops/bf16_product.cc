#include "backends/cpu/ops/bf16_product.h"

#include <omp.h>

#include <dnnl.hpp>
#include <unordered_map>

#include "backends/cpu/ops/onednn_engine.h"
#include "backends/cpu/ops/onednn_errors.h"
#include "backends/cpu/ops/onednn_matrix.h"
#include "backends/cpu/ops/onednn_scratchpad.h"

namespace acceld::cpu {

using dnnl::memory;

bool HasNativeBf16() {
  static const bool has = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
                          dnnl_cpu_isa_avx512_core_bf16;
  return has;
}

// oneDNN keeps the primitives it has made in a cache of its own. Alpha is an operand of them, since
// each takes milliseconds to make and a caller's alpha may change from call to call; as an output
// scale that is known at run time only, it would keep oneDNN from its fast kernels. Likewise C is
// scaled beforehand, by a beta that is neither 0 nor 1.
absl::Status MultiplyBf16(const MatrixProduct<float>& p, const std::uint16_t* a,
                          const std::uint16_t* b) {
  return WithOneDnnErrors("product", [&] {
    using enum memory::data_type;
    // C^T = op(B)^T op(A)^T.
    const memory::desc b_layout = RowMajorMatrix(p.k, p.n, p.ldb, p.transpose_b, bf16);
    const memory::desc a_layout = RowMajorMatrix(p.m, p.k, p.lda, p.transpose_a, bf16);
    const memory::desc c_layout = RowMajorMatrix(p.m, p.n, p.ldc, Transpose::kNone, f32);
    const memory::desc alpha_layout({1, 1}, f32, memory::format_tag::ab);
    dnnl::post_ops scale_and_add;
    if (p.alpha != 1) scale_and_add.append_binary(dnnl::algorithm::binary_mul, alpha_layout);
    if (p.beta != 0) scale_and_add.append_sum();
    dnnl::primitive_attr attributes = WithScratchpadArgument();
    attributes.set_post_ops(scale_and_add);
    const dnnl::matmul::primitive_desc description({b_layout, a_layout, c_layout}, attributes,
                                                   Engine());
    const dnnl::matmul product(description);
    const memory::desc scratchpad = description.scratchpad_desc();
    dnnl::stream stream(Engine());
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, {b_layout, Engine(), const_cast<std::uint16_t*>(b)}},
        {DNNL_ARG_WEIGHTS, {a_layout, Engine(), const_cast<std::uint16_t*>(a)}},
        {DNNL_ARG_DST, {c_layout, Engine(), p.c}},
        {DNNL_ARG_SCRATCHPAD, {scratchpad, Engine(), ThreadScratchpad(scratchpad)}}};
    float alpha = p.alpha;
    if (alpha != 1) {
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                        memory(alpha_layout, Engine(), &alpha));
    }
    if (p.beta != 0 && p.beta != 1) ScaleC(p, omp_get_max_threads());
    product.execute(stream, arguments);
    stream.wait();
    return absl::OkStatus();
  });
}

}  // namespace acceld::cpu
