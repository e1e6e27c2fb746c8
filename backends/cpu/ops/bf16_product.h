// The product of two bf16 matrices by the processor's own instructions for it.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/ops/matrix_product.h"

namespace acceld::cpu {

// Whether this processor multiplies bf16 at least as fast as f32, and oneDNN knows how.
bool HasNativeBf16();

// As Multiply of `product`, whose a and b are not looked at, for factors `a` and `b` in bf16.
// Products accumulate in f32, where subnormals are taken for 0; `a` and `b` must not have any.
// Unimplemented, with C untouched, where oneDNN has no kernel for the shape; what C holds after
// another error is undefined. With the threads of ScopedOpenMpThreads.
absl::Status MultiplyBf16(const MatrixProduct<float>& product, const std::uint16_t* a,
                          const std::uint16_t* b);

}  // namespace acceld::cpu
