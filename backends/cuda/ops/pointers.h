// On the cuda device a device address is a pointer that the card understands.
#pragma once

#include "backends/core/handles.h"

namespace acceld::cuda {

template <typename T>
T* Pointer(Address address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace acceld::cuda
