// The product of two f32 matrices by oneDNN, which counts rows and columns in 64 bits.
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/ops/matrix_product.h"

namespace acceld::cpu {

// Without AVX-512 its product is not known to be faster than OpenBLAS's.
bool HasFastOneDnnProduct();

// With as many threads as ScopedOpenMpThreads is set to. Out of memory where oneDNN has none for
// copies of the factors; what C holds is undefined then, since some threads may have begun.
absl::Status MultiplyByOneDnn(const MatrixProduct<float>& product);

}  // namespace acceld::cpu
