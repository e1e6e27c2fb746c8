// Numbers, texts and lists as frames carry them: every number takes 8 bytes, little-endian; a list
// or a text its length and then its elements, a text filled up to a multiple of 8.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/ops/shape.h"

namespace acceld::frames {

static_assert(std::endian::native == std::endian::little);

// Appends to a buffer.
class Packer {
 public:
  explicit Packer(std::vector<std::byte>& buffer) : buffer_(buffer) {}

  void Put(std::uint64_t value) { PutBytes(&value, sizeof value); }
  void Put(std::int64_t value) { Put(static_cast<std::uint64_t>(value)); }
  void Put(double value) { Put(std::bit_cast<std::uint64_t>(value)); }
  void Put(float value) { Put(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  template <typename T>
  requires(std::is_enum_v<T> || std::is_same_v<T, bool> ||
           std::is_same_v<T, std::uint8_t>) void Put(T value) {
    Put(static_cast<std::uint64_t>(value));
  }
  void Put(int value) { Put(std::int64_t{value}); }
  void Put(std::string_view text);
  void Put(absl::Span<const std::int64_t> list);
  void Put(const std::vector<std::int64_t>& list) { Put(absl::MakeConstSpan(list)); }
  void Put(const Shape& shape);
  template <std::size_t kCount>
  void Put(const std::array<std::int64_t, kCount>& values) {
    PutBytes(values.data(), sizeof values);
  }

  void PutBytes(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    buffer_.insert(buffer_.end(), bytes, bytes + size);
  }

 private:
  std::vector<std::byte>& buffer_;
};

// Reads what a peer packed, out of memory that nobody else changes. What is short, or does not fit
// its type, makes the reader fail for good, and gives 0.
class Unpacker {
 public:
  explicit Unpacker(absl::Span<const std::byte> bytes) : rest_(bytes) {}

  // Whether all was there and nothing is left.
  bool Done() const { return !failed_ && rest_.empty(); }
  bool failed() const { return failed_; }
  // For what is wrong in what was read.
  void Fail() {
    failed_ = true;
    rest_ = {};
  }

  // The length of a list whose elements take at least `element_bytes` each: no more than are there.
  std::size_t TakeCount(std::size_t element_bytes) {
    const std::uint64_t count = TakeNumber();
    if (count > rest_.size() / element_bytes) Fail();
    return failed_ ? 0 : count;
  }
  absl::Span<const std::byte> rest() const { return rest_; }

  void Take(std::uint64_t& value) { value = TakeNumber(); }
  void Take(std::int64_t& value) { value = static_cast<std::int64_t>(TakeNumber()); }
  void Take(double& value) { value = std::bit_cast<double>(TakeNumber()); }
  void Take(float& value) {
    value = std::bit_cast<float>(static_cast<std::uint32_t>(TakeUpTo(~std::uint32_t{0})));
  }
  void Take(bool& value) { value = TakeUpTo(1) != 0; }
  void Take(std::uint8_t& value) { value = static_cast<std::uint8_t>(TakeUpTo(255)); }
  void Take(int& value);
  // Any number that the type holds, whether or not it has a name; handles take all 64 bits.
  template <typename T>
  requires std::is_enum_v<T>
  void Take(T& value) {
    using Underlying = std::underlying_type_t<T>;
    static_assert(std::is_unsigned_v<Underlying>);
    value = static_cast<T>(TakeUpTo(static_cast<Underlying>(~Underlying{0})));
  }
  void Take(std::string& text);
  void Take(std::vector<std::int64_t>& list);
  void Take(Shape& shape);
  template <std::size_t kCount>
  void Take(std::array<std::int64_t, kCount>& values) {
    for (std::int64_t& value : values) Take(value);
  }

 private:
  std::uint64_t TakeNumber() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) {
      failed_ = true;
      rest_ = {};
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::uint64_t TakeUpTo(std::uint64_t limit) {
    const std::uint64_t value = TakeNumber();
    if (value <= limit) return value;
    failed_ = true;
    return 0;
  }

  absl::Span<const std::byte> rest_;
  bool failed_ = false;
};

// A status: its code, and where that is not 0 its reason and message.
void Put(Packer& packer, const absl::Status& status);
absl::Status TakeStatus(Unpacker& unpacker);

}  // namespace acceld::frames
