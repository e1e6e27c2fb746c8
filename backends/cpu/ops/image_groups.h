// A convolution of many images by oneDNN as several of fewer, whose reordered arrays stay in cache.
#pragma once

#include "absl/status/status.h"
#include "backends/cpu/context.h"
#include "backends/cpu/ops/conv2d.h"
#include "backends/cpu/ops/onednn.h"

namespace acceld::cpu {

// Whether the workspace a device keeps holds the filter and an image in a layout of oneDNN's.
bool FitsKeptWorkspace(const Conv2dShape& shape);

// Computes a convolution that OneDnnTakes and that FitsKeptWorkspace. Unimplemented where oneDNN
// has no fast kernel for it; nothing is written then.
absl::Status ConvolveInGroups(const Conv2d& convolution, OneDnnLayout layout, CpuContext& context);

}  // namespace acceld::cpu
