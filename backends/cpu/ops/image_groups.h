// A convolution of many images by oneDNN as several of fewer, whose reordered arrays stay in cache.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/cpu/ops/conv2d.h"
#include "backends/cpu/ops/onednn.h"

namespace acceld::cpu {

// How many of the shape's images oneDNN is given at once in that layout, and that the last group
// may have fewer. Depends on the shape only.
std::int64_t ImagesPerGroup(const Conv2dShape& shape, OneDnnLayout layout);

// Whether the workspace a device keeps holds the filter and an image in a layout of oneDNN's.
bool FitsKeptWorkspace(const Conv2dShape& shape);

// Computes a convolution that OneDnnTakes and that FitsKeptWorkspace. Unimplemented where oneDNN
// has no fast kernel for it; nothing is written then.
absl::Status ConvolveInGroups(const Conv2d& convolution, OneDnnLayout layout, CpuContext& context);

}  // namespace acceld::cpu
