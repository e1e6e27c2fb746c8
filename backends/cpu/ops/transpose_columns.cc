#include "backends/cpu/ops/transpose_columns.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/multiversion.h"

namespace acceld::cpu {
namespace {

constexpr std::int64_t kFour = 4;
constexpr std::int64_t kStrip = 16;

template <typename T>
struct Vector {
  typedef T Four __attribute__((vector_size(kFour * sizeof(T))));
};

template <typename T>
ACCELD_INLINE void TransposeElements(const T* from, std::int64_t ld, std::int64_t rows,
                                     std::int64_t columns, T* to, std::int64_t pitch) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[i * pitch + j] = from[j * ld + i];
  }
}

// Up to four rows and columns, of which four elements each are read and written.
template <typename T>
ACCELD_INLINE void TransposeBlock(const T* from, std::int64_t ld, std::int64_t rows,
                                  std::int64_t columns, T* to, std::int64_t pitch) {
  typename Vector<T>::Four in[kFour] = {};
  for (std::int64_t j = 0; j < columns; ++j) std::memcpy(&in[j], from + j * ld, sizeof in[j]);
  const auto low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
  const auto low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const auto high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  const auto high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  const typename Vector<T>::Four out[kFour] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                                               __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                                               __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                                               __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (std::int64_t i = 0; i < rows; ++i) std::memcpy(to + i * pitch, &out[i], sizeof out[i]);
}

// At least four of both; the last blocks overlap those before them. A strip of columns after
// another, so that lines of the target are written whole.
template <typename T>
ACCELD_INLINE void TransposeStrips(const T* from, std::int64_t ld, std::int64_t rows,
                                   std::int64_t columns, T* to) {
  for (std::int64_t strip = 0; strip < columns; strip += kStrip) {
    for (std::int64_t block = 0; block < rows; block += kFour) {
      const std::int64_t i = std::min(block, rows - kFour);
      for (std::int64_t at = strip; at < std::min(strip + kStrip, columns); at += kFour) {
        const std::int64_t j = std::min(at, columns - kFour);
        TransposeBlock(from + j * ld + i, ld, kFour, kFour, to + i * columns + j, columns);
      }
    }
  }
}

// Two or three rows, without gaps. What a block reads behind them is the next column's, so that the
// last columns are left.
template <typename T, std::int64_t kRows>
ACCELD_INLINE void TransposeFewRows(const T* from, std::int64_t columns, T* to) {
  std::int64_t j = 0;
  for (; j + kFour < columns; j += kFour) {
    TransposeBlock(from + j * kRows, kRows, kRows, kFour, to + j, columns);
  }
  TransposeElements(from + j * kRows, kRows, kRows, columns - j, to + j, columns);
}

// Two or three columns. What a block writes behind a row is overwritten with the next one.
template <typename T, std::int64_t kColumns>
ACCELD_INLINE void TransposeFewColumns(const T* from, std::int64_t ld, std::int64_t rows, T* to) {
  std::int64_t i = 0;
  for (; i + kFour < rows; i += kFour) {
    TransposeBlock(from + i, ld, kFour, kColumns, to + i * kColumns, kColumns);
  }
  TransposeElements(from + i, ld, rows - i, kColumns, to + i * kColumns, kColumns);
}

template <typename T>
ACCELD_INLINE void TransposeColumnsImpl(const T* from, std::int64_t ld, std::int64_t rows,
                                        std::int64_t columns, T* to) {
  if (rows >= kFour && columns >= kFour) {
    TransposeStrips(from, ld, rows, columns, to);
  } else if (rows == 2 && ld == 2) {
    TransposeFewRows<T, 2>(from, columns, to);
  } else if (rows == 3 && ld == 3) {
    TransposeFewRows<T, 3>(from, columns, to);
  } else if (columns == 2) {
    TransposeFewColumns<T, 2>(from, ld, rows, to);
  } else if (columns == 3) {
    TransposeFewColumns<T, 3>(from, ld, rows, to);
  } else {
    TransposeElements(from, ld, rows, columns, to, columns);
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
