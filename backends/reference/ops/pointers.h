// The reference's addresses are pointers of this process.
#pragma once

#include "backends/core/handles.h"

namespace acceld::reference {

template <typename T>
T* Pointer(Address address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace acceld::reference
