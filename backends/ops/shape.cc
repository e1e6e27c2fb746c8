#include "backends/ops/shape.h"

#include <algorithm>
#include <limits>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace acceld {
namespace {

// The bytes of a dense array; more than kMaxArrayBytes, if not exact, where it does not fit.
WideBytes ArrayBytes(absl::Span<const std::int64_t> dims, std::uint64_t element_bytes) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  WideBytes bytes = element_bytes;
  for (std::int64_t dim : dims) {
    bytes *= static_cast<std::uint64_t>(dim);
    if (bytes > kMaxArrayBytes) break;
  }
  return bytes;
}

absl::Status TooManyBytes(std::string_view size, std::string_view op_name,
                          std::string_view argument) {
  return InvalidArgument(fmt::format("Argument {} of {} is {}; at most {} bytes are allowed.",
                                     argument, op_name, size, kMaxArrayBytes));
}

}  // namespace

Shape::Shape(absl::Span<const std::int64_t> dims) : rank_(dims.size()) {
  std::copy_n(dims.begin(), std::min<std::size_t>(rank_, kMaxRank), dims_.begin());
}

absl::Span<const std::int64_t> Shape::dims() const {
  return absl::MakeConstSpan(dims_.data(), std::min<std::size_t>(rank_, kMaxRank));
}

std::int64_t Shape::Product(std::size_t begin, std::size_t end) const {
  const auto range = dims().subspan(begin, end - begin);
  if (std::find(range.begin(), range.end(), 0) != range.end()) return 0;
  std::int64_t product = 1;
  for (std::int64_t dim : range) {
    if (__builtin_mul_overflow(product, dim, &product)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return product;
}

std::string Shape::ToString() const {
  return fmt::format("[{}{}]", fmt::join(dims(), ", "), rank_ > kMaxRank ? ", …" : "");
}

absl::Status CheckShape(const Shape& shape, std::uint64_t element_bytes, std::string_view op_name,
                        std::string_view argument) {
  if (shape.rank() < 1 || shape.rank() > kMaxRank) {
    return InvalidArgument(fmt::format("Argument {} of {} has rank {}; it must be 1 to {}.",
                                       argument, op_name, shape.rank(), kMaxRank));
  }
  for (std::int64_t dim : shape.dims()) {
    if (dim < 0 || dim >= kDimensionLimit) {
      return InvalidArgument(
          fmt::format("Argument {} of {} is {}; each dimension must be at least 0 and below {}.",
                      argument, op_name, shape.ToString(), kDimensionLimit));
    }
  }
  return CheckArrayBytes(shape.dims(), element_bytes, op_name, argument);
}

absl::Status CheckDimension(std::int64_t value, std::int64_t minimum, std::string_view op_name,
                            std::string_view argument) {
  if (value >= minimum && value < kDimensionLimit) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("Argument {} of {} is {}; it must be at least {} and below {}.", argument,
                  op_name, value, minimum, kDimensionLimit));
}

absl::Status CheckAxis(std::int64_t axis, const Shape& shape, std::string_view op_name) {
  if (axis >= 0 && static_cast<std::uint64_t>(axis) < shape.rank()) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("Argument axis of {} is {}; it must be at least 0 and below {}, the rank of {}.",
                  op_name, axis, shape.rank(), shape.ToString()));
}

absl::Status CheckArrayBytes(absl::Span<const std::int64_t> dims, std::uint64_t element_bytes,
                             std::string_view op_name, std::string_view argument) {
  if (ArrayBytes(dims, element_bytes) <= kMaxArrayBytes) return absl::OkStatus();
  return TooManyBytes(
      fmt::format("[{}] with elements of {} bytes", fmt::join(dims, ", "), element_bytes), op_name,
      argument);
}

absl::Status CheckByteCount(WideBytes bytes, std::string_view op_name, std::string_view argument) {
  if (bytes <= kMaxArrayBytes) return absl::OkStatus();
  return TooManyBytes(fmt::format("{} bytes long", bytes), op_name, argument);
}

absl::Status CheckElementCount(std::int64_t count, std::uint64_t element_bytes,
                               std::string_view op_name, std::string_view argument) {
  if (count < 0) {
    return InvalidArgument(
        fmt::format("Argument {} of {} is {}; it must not be negative.", argument, op_name, count));
  }
  if (WideBytes{static_cast<std::uint64_t>(count)} * element_bytes <= kMaxArrayBytes) {
    return absl::OkStatus();
  }
  return TooManyBytes(fmt::format("{} elements of {} bytes", count, element_bytes), op_name,
                      argument);
}

}  // namespace acceld
