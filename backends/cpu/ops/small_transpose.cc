#include "backends/cpu/ops/small_transpose.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/streaming_store.h"

namespace acceld::cpu {
namespace {

using Four = float __attribute__((vector_size(16)));

ACCELD_INLINE Four Load(const float* from) {
  Four four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

ACCELD_INLINE void Store(Four four, float* to) { std::memcpy(to, &four, sizeof four); }

struct Matrix {
  const float* elements;
  std::int64_t rows;
  std::int64_t columns;
  // Of the columns; null where they are not scaled.
  const float* factors;
};

// The block of up to 4 x 4 at a row and a column, one element after another.
void TransposeElements(const Matrix& from, std::int64_t row, std::int64_t column, float* to) {
  for (std::int64_t j = column; j < std::min(column + 4, from.columns); ++j) {
    const float factor = from.factors == nullptr ? 1 : from.factors[j];
    for (std::int64_t i = row; i < std::min(row + 4, from.rows); ++i) {
      to[j * from.rows + i] = from.elements[i * from.columns + j] * factor;
    }
  }
}

// The same of kRows x kColumns, read as four elements of each row and written as four of each
// column, of which those that there are not are any.
template <bool kScaled, int kRows, int kColumns>
ACCELD_INLINE void TransposeBlock(const Matrix& from, std::int64_t row, std::int64_t column,
                                  float* to) {
  const float* const first = from.elements + row * from.columns + column;
  Four in[4];
  for (int i = 0; i < 4; ++i) in[i] = Load(first + std::min(i, kRows - 1) * from.columns);
  if constexpr (kScaled) {
    const Four factors = Load(from.factors + column);
    for (Four& four : in) four *= factors;
  }
  const Four low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  to += column * from.rows + row;
  Store(__builtin_shufflevector(low01, low23, 0, 1, 4, 5), to);
  if constexpr (kColumns == 1) return;
  Store(__builtin_shufflevector(low01, low23, 2, 3, 6, 7), to + from.rows);
  if constexpr (kColumns == 2) return;
  Store(__builtin_shufflevector(high01, high23, 0, 1, 4, 5), to + 2 * from.rows);
  if constexpr (kColumns == 3) return;
  Store(__builtin_shufflevector(high01, high23, 2, 3, 6, 7), to + 3 * from.rows);
}

// Of an array of which several rows at once are read from beginning to end; what is scaled is a
// cache's.
ACCELD_INLINE void FetchRowsAhead(const float* rows, std::int64_t elements) {
  constexpr std::int64_t kAhead = 2048;
  for (std::int64_t i = 0; i < elements; i += kLine) FetchLine(rows + kAhead + i);
}

// kColumns columns from one on.
template <bool kScaled, int kColumns>
ACCELD_INLINE void TransposeColumns(const Matrix& from, std::int64_t column, float* to) {
  const std::int64_t whole_rows = from.rows / 4 * 4;
  const bool more_rows = whole_rows < from.rows;
  // First the rows that are written beyond where they belong.
  if (more_rows) {
    if (column + kColumns == from.columns) {
      TransposeElements(from, whole_rows, column, to);
    } else if (from.rows - whole_rows == 1) {
      TransposeBlock<kScaled, 1, kColumns>(from, whole_rows, column, to);
    } else if (from.rows - whole_rows == 2) {
      TransposeBlock<kScaled, 2, kColumns>(from, whole_rows, column, to);
    } else {
      TransposeBlock<kScaled, 3, kColumns>(from, whole_rows, column, to);
    }
  }
  // And last those that are read beyond the end.
  const std::int64_t end = kColumns == 4 || more_rows ? whole_rows : whole_rows - 4;
  for (std::int64_t row = 0; row < end; row += 4) {
    if (!kScaled && column == 0) {
      FetchRowsAhead(from.elements + row * from.columns, 4 * from.columns);
    }
    TransposeBlock<kScaled, 4, kColumns>(from, row, column, to);
  }
  if (end < whole_rows) TransposeElements(from, end, column, to);
}

template <bool kScaled>
void TransposeAll(Matrix from, float* to) {
  if (from.columns == 1) {
    for (std::int64_t row = 0; row < from.rows; row += 4) TransposeElements(from, row, 0, to);
    return;
  }
  if (from.rows == 1) {
    for (std::int64_t column = 0; column < from.columns; column += 4) {
      TransposeElements(from, 0, column, to);
    }
    return;
  }
  std::int64_t column = 0;
  for (; column + 4 <= from.columns; column += 4) TransposeColumns<kScaled, 4>(from, column, to);
  switch (from.columns - column) {
    case 3:
      return TransposeColumns<kScaled, 3>(from, column, to);
    case 2:
      return TransposeColumns<kScaled, 2>(from, column, to);
    case 1:
      return TransposeColumns<kScaled, 1>(from, column, to);
  }
}

template <bool kScaled>
void ExchangeAll(const float* from, std::int64_t outer, std::int64_t middle, std::int64_t inner,
                 const float* factors, float* to) {
  for (std::int64_t j = 0; j < middle; ++j, factors += kScaled ? inner : 0) {
    for (std::int64_t i = 0; i < outer; ++i, to += inner) {
      const float* const row = from + (i * middle + j) * inner;
      if (!kScaled && j == 0) FetchRowsAhead(row, middle * inner);
      if (i + 1 == outer && j + 1 == middle) {
        for (std::int64_t k = 0; k < inner; ++k) to[k] = kScaled ? row[k] * factors[k] : row[k];
        return;
      }
      for (std::int64_t k = 0; k < inner; k += 4) {
        Four four = Load(row + k);
        if constexpr (kScaled) four *= Load(factors + k);
        Store(four, to + k);
      }
    }
  }
}

}  // namespace

void Transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  TransposeAll<false>({from, rows, columns, nullptr}, to);
}

void TransposeScaled(const float* from, std::int64_t rows, std::int64_t columns,
                     const float* factors, float* to) {
  TransposeAll<true>({from, rows, columns, factors}, to);
}

void ExchangeRows(const float* from, std::int64_t outer, std::int64_t middle, std::int64_t inner,
                  float* to) {
  ExchangeAll<false>(from, outer, middle, inner, nullptr, to);
}

void ExchangeRowsScaled(const float* from, std::int64_t outer, std::int64_t middle,
                        std::int64_t inner, const float* factors, float* to) {
  ExchangeAll<true>(from, outer, middle, inner, factors, to);
}

}  // namespace acceld::cpu
