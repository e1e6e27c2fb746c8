#include "proto/wire/utf8.h"

#include <algorithm>
#include <cstdint>

namespace acceld {
namespace {

constexpr std::string_view kCut = "...";

bool InRange(std::uint8_t byte, std::uint8_t low, std::uint8_t high) {
  return byte >= low && byte <= high;
}

// The length of the character that `text` starts with; 0 where it starts with none. The ranges are
// those of table 3-7 of the Unicode Standard, which leave out overlong forms and surrogates.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (InRange(first, 0xC2, 0xDF)) {
    length = 2;
  } else if (InRange(first, 0xE0, 0xEF)) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (InRange(first, 0xF0, 0xF4)) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() < length || !InRange(byte(1), low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!InRange(byte(i), 0x80, 0xBF)) return 0;
  }
  return length;
}

}  // namespace

std::string BoundedUtf8(std::string_view text, std::size_t limit_bytes) {
  std::string result;
  result.reserve(std::min(text.size(), limit_bytes));
  // How much of the result stays where it has to be cut.
  std::size_t kept_if_cut = 0;
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const std::string_view character = length == 0 ? "?" : text.substr(0, length);
    if (result.size() + character.size() > limit_bytes) {
      if (limit_bytes < kCut.size()) return result;
      return result.substr(0, kept_if_cut).append(kCut);
    }
    result += character;
    if (result.size() + kCut.size() <= limit_bytes) kept_if_cut = result.size();
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace acceld
