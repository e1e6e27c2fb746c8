// Rows, one behind the other, folded each into one value by what folds segments of an array: CUB on
// the GPU (real/reduce_rows.cu), a loop on the host. What is told to it is here: where a segment
// begins, the values that it reads, how two are combined, and what becomes of a result. ops::Reduce
// along the last axis.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "backends/core/values.h"
#include "backends/cuda/kernels/extremes.h"
#include "backends/cuda/kernels/grid.h"

namespace acceld::cuda {

// CUB folds a segment by one block, which loads so many elements at once: 8 for each of 256
// threads. Of what is left at the end, or of a segment that is shorter, it loads one after the
// other.
inline constexpr std::int64_t kSegmentTile = 2048;

// How rows are cut into pieces, one behind the other: long ones, where there are too few to keep a
// card busy. By their shape alone, so that the same call gives the same bits on every card.
class RowPieces {
 public:
  RowPieces() = default;
  RowPieces(std::int64_t rows, std::int64_t length)
      : rows_(rows), length_(length), piece_length_(length) {
    const std::int64_t most = Smaller(kEnoughPieces / rows, length / kShortestPiece);
    if (most < 2) return;
    piece_length_ = CeilDivide(CeilDivide(length, most), kSegmentTile) * kSegmentTile;
    per_row_ = CeilDivide(length, piece_length_);
  }

  std::int64_t per_row() const { return per_row_; }
  std::int64_t count() const { return rows_ * per_row_; }

  // Its first element; it ends where the next one begins.
  ACCELD_HOST_DEVICE std::int64_t Begin(std::int64_t piece) const {
    const std::int64_t row = Quotient(piece, per_row_);
    return row * length_ + (piece - row * per_row_) * piece_length_;
  }

 private:
  // With this many blocks a card is busy.
  static constexpr std::int64_t kEnoughPieces = 1024;
  // Shorter ones would save less time than it takes to launch what folds their results.
  static constexpr std::int64_t kShortestPiece = 2 * kSegmentTile;

  std::int64_t rows_ = 0;
  std::int64_t length_ = 0;
  std::int64_t piece_length_ = 0;
  std::int64_t per_row_ = 1;
};

// ---- Iterators, as far as they are used ----

// RowPieces::Begin of one piece after the other.
class PieceBegins {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::int64_t;
  using difference_type = std::int64_t;
  using pointer = const std::int64_t*;
  using reference = std::int64_t;

  explicit PieceBegins(const RowPieces& pieces, std::int64_t first = 0)
      : pieces_(pieces), first_(first) {}

  ACCELD_HOST_DEVICE std::int64_t operator[](std::int64_t i) const {
    return pieces_.Begin(first_ + i);
  }
  ACCELD_HOST_DEVICE PieceBegins operator+(std::int64_t n) const {
    PieceBegins later = *this;
    later.first_ += n;
    return later;
  }

 private:
  RowPieces pieces_;
  std::int64_t first_;
};

// Elements in double. Not a plain pointer, through which CUB reads vectors where it is aligned: the
// order of additions, and so the bits, would depend on where an array is.
template <typename T>
class FoldedElements {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = double;
  using difference_type = std::int64_t;
  using pointer = const double*;
  using reference = double;

  explicit FoldedElements(const T* data) : data_(data) {}

  ACCELD_HOST_DEVICE double operator[](std::int64_t i) const {
    return static_cast<double>(data_[i]);
  }
  ACCELD_HOST_DEVICE FoldedElements operator+(std::int64_t n) const {
    FoldedElements later = *this;
    later.data_ += n;
    return later;
  }

 private:
  const T* data_;
};

// Where results go: to `partials` as they are, or to `output`, divided and rounded once.
class FoldedResults {
 public:
  class Result {
   public:
    ACCELD_HOST_DEVICE Result(double* partial, float* output, double divisor)
        : partial_(partial), output_(output), divisor_(divisor) {}
    ACCELD_HOST_DEVICE void operator=(double value) const {
      if (partial_ != nullptr) {
        *partial_ = value;
      } else {
        *output_ = static_cast<float>(value / divisor_);
      }
    }

   private:
    double* partial_;
    float* output_;
    double divisor_;
  };

  using iterator_category = std::random_access_iterator_tag;
  using value_type = double;
  using difference_type = std::int64_t;
  using pointer = double*;
  using reference = Result;

  explicit FoldedResults(double* partials) : partials_(partials) {}
  FoldedResults(float* output, double divisor) : output_(output), divisor_(divisor) {}

  ACCELD_HOST_DEVICE Result operator*() const {
    return partials_ != nullptr ? Result(partials_ + first_, nullptr, divisor_)
                                : Result(nullptr, output_ + first_, divisor_);
  }
  ACCELD_HOST_DEVICE FoldedResults operator+(std::int64_t n) const {
    FoldedResults later = *this;
    later.first_ += n;
    return later;
  }

 private:
  double* partials_ = nullptr;
  float* output_ = nullptr;
  double divisor_ = 1;
  std::int64_t first_ = 0;
};

// ----

// One value of two, in double, which is exact for max and min of f32: the card's memory limits
// them, and not what they compute. What begins with kStart is as if it began with nothing.

struct Sum {
  static constexpr double kStart = -0.0;

  ACCELD_HOST_DEVICE double operator()(double a, double b) const { return a + b; }
};

struct Extreme {
  static constexpr double kStart = NAN;

  ACCELD_HOST_DEVICE double operator()(double a, double b) const {
    return max ? MaxNumber(a, b) : MinNumber(a, b);
  }

  bool max = false;
};

// `rows` times `length` elements of f32 into `rows`; a mean is divided by `length`.
struct ReductionCall {
  // Shorter rows are better off in ReduceKernel, of which a block takes several.
  static constexpr std::int64_t kMinLength = kSegmentTile;
  // Of the workspace, the first bytes are the library's own; CUB asks for one.
  static constexpr std::size_t kLibraryBytes = 256;

  // By the shape alone.
  std::uint64_t workspace_bytes() const {
    const RowPieces pieces(rows, length);
    const std::int64_t partials = pieces.per_row() > 1 ? pieces.count() : 0;
    return kLibraryBytes + static_cast<std::uint64_t>(partials) * sizeof(double);
  }

  // Does it by one call, or where rows are cut by two, of
  //   fold_segments(elements, results, pieces, combine)
  // which gives results[i] what kStart and the elements of piece i make when they are combined, in
  // whatever order. False as soon as one of them is.
  template <typename FoldSegments>
  bool Run(FoldSegments&& fold_segments) const {
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kMean:
        return Run(fold_segments, Sum{});
      case ReduceOp::kMax:
      case ReduceOp::kMin:
        return Run(fold_segments, Extreme{.max = op == ReduceOp::kMax});
    }
    return false;
  }

  ReduceOp op = ReduceOp::kSum;
  std::int64_t rows = 0;
  std::int64_t length = 0;
  const float* input = nullptr;
  float* output = nullptr;
  // Of workspace_bytes() bytes, aligned to 256.
  std::byte* workspace = nullptr;

 private:
  template <typename FoldSegments, typename Combine>
  bool Run(FoldSegments&& fold_segments, Combine combine) const {
    const RowPieces pieces(rows, length);
    const FoldedElements elements(input);
    const FoldedResults results(output, op == ReduceOp::kMean ? static_cast<double>(length) : 1);
    if (pieces.per_row() == 1) return fold_segments(elements, results, pieces, combine);
    double* const partials = reinterpret_cast<double*>(workspace + kLibraryBytes);
    return fold_segments(elements, FoldedResults(partials), pieces, combine) &&
           fold_segments(FoldedElements(partials), results, RowPieces(rows, pieces.per_row()),
                         combine);
  }
};

}  // namespace acceld::cuda
