// What a kernel uses of the device's memory, for who checks that before it runs.
#pragma once

#include <cstdint>

namespace acceld::cuda {

struct KernelOperand {
  const void* data = nullptr;
  // From the first byte that may be used to the last, with what is left out in between. 0: nothing
  // is used.
  std::uint64_t bytes = 0;
  // Else it is only read.
  bool writes = false;
};

template <typename T>
KernelOperand Reads(const T* data, std::int64_t elements) {
  return {.data = data, .bytes = static_cast<std::uint64_t>(elements) * sizeof(T)};
}

template <typename T>
KernelOperand Writes(T* data, std::int64_t elements) {
  return {.data = data, .bytes = static_cast<std::uint64_t>(elements) * sizeof(T), .writes = true};
}

// The elements from the first to the last of a column-major matrix.
inline std::int64_t MatrixSpan(std::int64_t rows, std::int64_t columns, std::int64_t ld) {
  return rows > 0 && columns > 0 ? (columns - 1) * ld + rows : 0;
}

}  // namespace acceld::cuda
