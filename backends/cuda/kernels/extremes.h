// The larger and the smaller of two numbers: the number where one side is NaN.
#pragma once

#include "backends/cuda/kernels/host_device.h"

namespace acceld::cuda {

template <typename T>
ACCELD_HOST_DEVICE T MaxNumber(T a, T b) {
  return a > b || b != b ? a : b;
}

template <typename T>
ACCELD_HOST_DEVICE T MinNumber(T a, T b) {
  return a < b || b != b ? a : b;
}

}  // namespace acceld::cuda
