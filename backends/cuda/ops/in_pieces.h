// Ops that are cut where they are too large for one call of a library, with the size of the pieces,
// so that tests can have small ones.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cuda/context.h"
#include "backends/ops/conv2d_backward_filter.h"
#include "backends/ops/gemm_mixed_precision.h"

namespace acceld::cuda {

// Rounds and multiplies blocks of at most block_size x block_size.
absl::Status RunInBlocks(const ops::GemmMixedPrecision& op, std::int64_t block_size,
                         CudaContext& context);

// By groups of images as in image_groups.h.
absl::Status RunInGroups(const ops::Conv2dBackwardFilter& op, std::int64_t max_elements,
                         CudaContext& context);

}  // namespace acceld::cuda
