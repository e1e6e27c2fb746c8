// Convolutions with few filters: own loops, since a block of 16 filters would be mostly padding,
// and a product with few rows spends its time on its columns.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/cpu/ops/conv2d.h"

namespace acceld::cpu {

// Fewer filters than this are few.
inline constexpr std::int64_t kFewFilters = 8;

// Whether ConvolveFewFilters is the way to compute it forward or its filter's gradient.
bool HasFewFilters(const Conv2dShape& shape);

// Forward or the filter's gradient of a shape that HasFewFilters. Takes some MiB of workspace.
absl::Status ConvolveFewFilters(const Conv2d& convolution, CpuContext& context);

}  // namespace acceld::cpu
