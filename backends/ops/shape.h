// The extents of a dense row-major array.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/ops/operand.h"

namespace acceld {

inline constexpr int kMaxRank = 8;

// Every dimension, leading dimension, stride and padding is below this.
inline constexpr std::int64_t kDimensionLimit = std::int64_t{1} << 31;

// Every array ends within this many bytes, so that sums of a few sizes never overflow.
inline constexpr std::uint64_t kMaxArrayBytes = std::uint64_t{1} << 62;

// Outermost dimension first. Holds any shape a peer may send; `CheckShape` says whether it is
// valid.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(absl::MakeConstSpan(dims.begin(), dims.size())) {}
  explicit Shape(absl::Span<const std::int64_t> dims);

  // May exceed kMaxRank in an invalid shape, whose further dimensions are not kept.
  std::size_t rank() const { return rank_; }
  absl::Span<const std::int64_t> dims() const;
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }

  // The product of all dimensions; 1 for rank 0. Only for a checked shape.
  std::int64_t ElementCount() const { return Product(0, rank_); }
  // The product of the dimensions in [begin, end). Only for a checked shape. Where another
  // dimension is 0 it may not be representable, and is then the largest int64.
  std::int64_t Product(std::size_t begin, std::size_t end) const;

  // "[2, 3]".
  std::string ToString() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::size_t rank_ = 0;
  std::array<std::int64_t, kMaxRank> dims_{};
};

// Whether `shape` has rank 1 to 8, dimensions in [0, 2^31), and its elements of `element_bytes`
// each fit into 2^62 bytes. The error names `op_name` and `argument`.
absl::Status CheckShape(const Shape& shape, std::uint64_t element_bytes, std::string_view op_name,
                        std::string_view argument);

// Whether `value` is in [minimum, 2^31). The error names `op_name` and `argument`.
absl::Status CheckDimension(std::int64_t value, std::int64_t minimum, std::string_view op_name,
                            std::string_view argument);

// Whether `axis` is in [0, rank of shape).
absl::Status CheckAxis(std::int64_t axis, const Shape& shape, std::string_view op_name);

// Whether a dense array of these dimensions (none negative) and `element_bytes` fits into 2^62
// bytes.
absl::Status CheckArrayBytes(absl::Span<const std::int64_t> dims, std::uint64_t element_bytes,
                             std::string_view op_name, std::string_view argument);

// Whether `bytes` is at most 2^62.
absl::Status CheckByteCount(WideBytes bytes, std::string_view op_name, std::string_view argument);

// Whether `count` elements of `element_bytes` is not negative and fits into 2^62 bytes.
absl::Status CheckElementCount(std::int64_t count, std::uint64_t element_bytes,
                               std::string_view op_name, std::string_view argument);

}  // namespace acceld
