// On the CPU a device address is a pointer of this process.
#pragma once

#include "backends/core/handles.h"

namespace acceld::cpu {

template <typename T>
T* Pointer(Address address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace acceld::cpu
