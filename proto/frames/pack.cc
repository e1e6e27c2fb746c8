#include "proto/frames/pack.h"

#include <algorithm>
#include <limits>

#include "backends/core/status.h"

namespace acceld::frames {
namespace {

constexpr std::size_t kAlignment = 8;

// Longer messages are cut.
constexpr std::size_t kMaxMessageBytes = 4096;

std::size_t PaddingOf(std::size_t size) { return (kAlignment - size % kAlignment) % kAlignment; }

}  // namespace

void Packer::Put(std::string_view text) {
  constexpr std::array<std::byte, kAlignment> kZeros{};
  Put(std::uint64_t{text.size()});
  PutBytes(text.data(), text.size());
  PutBytes(kZeros.data(), PaddingOf(text.size()));
}

void Packer::Put(absl::Span<const std::int64_t> list) {
  Put(std::uint64_t{list.size()});
  PutBytes(list.data(), list.size() * sizeof(std::int64_t));
}

void Packer::Put(const Shape& shape) {
  Put(std::uint64_t{shape.rank()});
  const absl::Span<const std::int64_t> dims = shape.dims();
  PutBytes(dims.data(), dims.size() * sizeof(std::int64_t));
}

void Unpacker::Take(int& value) {
  const auto number = static_cast<std::int64_t>(TakeNumber());
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    failed_ = true;
  }
  value = failed_ ? 0 : static_cast<int>(number);
}

void Unpacker::Take(std::string& text) {
  const std::uint64_t size = TakeNumber();
  if (size > rest_.size() || PaddingOf(size) > rest_.size() - size) {
    failed_ = true;
    rest_ = {};
    return;
  }
  text.assign(reinterpret_cast<const char*>(rest_.data()), size);
  rest_.remove_prefix(size + PaddingOf(size));
}

void Unpacker::Take(std::vector<std::int64_t>& list) {
  const std::uint64_t count = TakeNumber();
  if (count > rest_.size() / sizeof(std::int64_t)) {
    failed_ = true;
    rest_ = {};
    return;
  }
  list.resize(count);
  // An empty list has no memory to copy to.
  if (count > 0) std::memcpy(list.data(), rest_.data(), count * sizeof(std::int64_t));
  rest_.remove_prefix(count * sizeof(std::int64_t));
}

void Unpacker::Take(Shape& shape) {
  // A shape of too high a rank stays one, though its dimensions are not known.
  const std::uint64_t rank = TakeNumber();
  std::array<std::int64_t, kMaxRank + 1> dims{};
  if (rank > kMaxRank) {
    shape = Shape(absl::MakeConstSpan(dims));
    rest_.remove_prefix(std::min(rest_.size(), kMaxRank * sizeof(std::int64_t)));
    return;
  }
  for (std::size_t i = 0; i < rank; ++i) Take(dims[i]);
  shape = Shape(absl::MakeConstSpan(dims.data(), rank));
}

void Put(Packer& packer, const absl::Status& status) {
  packer.Put(static_cast<std::uint64_t>(status.code()));
  if (status.ok()) return;
  packer.Put(GetReason(status));
  const std::string_view message(status.message().data(), status.message().size());
  packer.Put(message.substr(0, kMaxMessageBytes));
}

absl::Status TakeStatus(Unpacker& unpacker) {
  std::uint64_t code = 0;
  unpacker.Take(code);
  if (code == 0) return absl::OkStatus();
  std::string reason;
  std::string message;
  unpacker.Take(reason);
  unpacker.Take(message);
  constexpr auto kLastCode = static_cast<std::uint64_t>(absl::StatusCode::kUnauthenticated);
  const auto known =
      code <= kLastCode ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
  absl::Status status(known, message);
  return reason.empty() ? status : WithReason(std::move(status), reason);
}

}  // namespace acceld::frames
