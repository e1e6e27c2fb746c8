// Products of which m or n is small, by own loops: reading the factors takes as long as multiplying
// them. They are read once, in blocks that stay in a cache, and are rounded on the way.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/ops/matrix_product.h"
#include "backends/cpu/ops/rounded_block.h"

namespace acceld::cpu {

// Whether these loops take a product of this shape: of fewer than 64 rows or columns, or of few of
// both and deep.
bool IsThin(std::int64_t m, std::int64_t n, std::int64_t k);

// C = alpha op(A) op(B) + beta C with `threads` threads, for what IsThin, with k at least 1 and
// alpha not 0. Factors of double are not rounded. Out of memory where the host has none for blocks;
// what C holds is undefined then.
absl::Status MultiplyThin(const MatrixProduct<float>& product, Rounding rounding, int threads);
absl::Status MultiplyThin(const MatrixProduct<double>& product, Rounding rounding, int threads);

}  // namespace acceld::cpu
