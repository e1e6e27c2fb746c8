#include "backends/cpu/ops/transpose_columns.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/multiversion.h"

namespace acceld::cpu {
namespace {

constexpr std::int64_t kFour = 4;

template <typename T>
struct Vector {
  typedef T Four __attribute__((vector_size(kFour * sizeof(T))));
};

// Elements of up to 4 x 4.
template <typename T>
ACCELD_INLINE void TransposeElements(const T* from, std::int64_t ld, std::int64_t rows,
                                     std::int64_t columns, T* to, std::int64_t pitch) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[i * pitch + j] = from[j * ld + i];
  }
}

template <typename T>
ACCELD_INLINE void TransposeBlock(const T* from, std::int64_t ld, T* to, std::int64_t pitch) {
  typename Vector<T>::Four in[kFour];
  for (int j = 0; j < kFour; ++j) std::memcpy(&in[j], from + j * ld, sizeof in[j]);
  const auto low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
  const auto low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const auto high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  const auto high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  const typename Vector<T>::Four out[kFour] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                                               __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                                               __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                                               __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int i = 0; i < kFour; ++i) std::memcpy(to + i * pitch, &out[i], sizeof out[i]);
}

template <typename T>
ACCELD_INLINE void TransposeColumnsImpl(const T* from, std::int64_t ld, std::int64_t rows,
                                        std::int64_t columns, T* to) {
  for (std::int64_t j = 0; j < columns; j += kFour) {
    for (std::int64_t i = 0; i < rows; i += kFour) {
      const std::int64_t height = std::min(kFour, rows - i);
      const std::int64_t width = std::min(kFour, columns - j);
      if (height == kFour && width == kFour) {
        TransposeBlock(from + j * ld + i, ld, to + i * columns + j, columns);
      } else {
        TransposeElements(from + j * ld + i, ld, height, width, to + i * columns + j, columns);
      }
    }
  }
}

}  // namespace

ACCELD_MULTIVERSION void TransposeColumns(const float* from, std::int64_t ld, std::int64_t rows,
                                          std::int64_t columns, float* to) {
  TransposeColumnsImpl(from, ld, rows, columns, to);
}

ACCELD_MULTIVERSION void TransposeColumns(const double* from, std::int64_t ld, std::int64_t rows,
                                          std::int64_t columns, double* to) {
  TransposeColumnsImpl(from, ld, rows, columns, to);
}

}  // namespace acceld::cpu
