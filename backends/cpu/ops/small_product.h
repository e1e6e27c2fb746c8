// Small products by own loops, which take less than a call of a library does.
#pragma once

#include <cstdint>

#include "backends/cpu/ops/matrix_product.h"

namespace acceld::cpu {

// Whether own loops are the fastest for products of this shape: those of a few multiplications, and
// up to some 100 x 100 x 100 those in a batch and those of a transposed A. Not for those that have
// no rows, columns or depth.
bool HasOwnLoops(const MatrixProduct<float>& product, bool in_batch);
bool HasOwnLoops(const MatrixProduct<double>& product, bool in_batch);

// Computes `count` products, `first` and those `strides` behind it, which HasOwnLoops and whose
// alpha is not 0, in the calling thread.
void MultiplyByOwnLoops(const MatrixProduct<float>& first, const ProductStrides& strides,
                        std::int64_t count);
void MultiplyByOwnLoops(const MatrixProduct<double>& first, const ProductStrides& strides,
                        std::int64_t count);

}  // namespace acceld::cpu
