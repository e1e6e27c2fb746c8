// Matrices as oneDNN describes them.
#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "backends/core/values.h"

namespace acceld::cpu {

// A column-major [rows, columns] matrix is a row-major [columns, rows] one. Transposed once more if
// `transpose` says so.
inline dnnl::memory::desc RowMajorMatrix(std::int64_t rows, std::int64_t columns, std::int64_t ld,
                                         Transpose transpose, dnnl::memory::data_type type) {
  const dnnl::memory::dims strides =
      transpose == Transpose::kNone ? dnnl::memory::dims{ld, 1} : dnnl::memory::dims{1, ld};
  return {{columns, rows}, type, strides};
}

}  // namespace acceld::cpu
