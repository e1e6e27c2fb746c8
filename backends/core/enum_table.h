// One table an enum gives its text form, its parser and its validity check.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace acceld {

// One value of an enum with its name and up to three other spellings that parse to it.
template <typename E>
struct EnumEntry {
  E value;
  std::string_view name;
  std::array<std::string_view, 3> aliases{};
};

// Specialized per enum: `static constexpr std::array<EnumEntry<E>, N> kEntries`.
template <typename E>
struct EnumTable;

namespace internal {

constexpr char ToLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ToLower(a[i]) != ToLower(b[i])) return false;
  }
  return true;
}

constexpr std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace internal

// The text form of `value`; "invalid" for a number that is no value of the enum.
template <typename E>
constexpr std::string_view Name(E value) {
  for (const auto& entry : EnumTable<E>::kEntries) {
    if (entry.value == value) return entry.name;
  }
  return "invalid";
}

// Whether `value`, perhaps cast from a number of the wire, is one of the enum's values.
template <typename E>
constexpr bool IsValid(E value) {
  for (const auto& entry : EnumTable<E>::kEntries) {
    if (entry.value == value) return true;
  }
  return false;
}

// The value that `text` names, ignoring case and spaces around it. Round-trips with `Name`.
template <typename E>
constexpr std::optional<E> Parse(std::string_view text) {
  text = internal::Trim(text);
  if (text.empty()) return std::nullopt;
  for (const auto& entry : EnumTable<E>::kEntries) {
    if (internal::EqualsIgnoringCase(text, entry.name)) return entry.value;
    for (std::string_view alias : entry.aliases) {
      if (internal::EqualsIgnoringCase(text, alias)) return entry.value;
    }
  }
  return std::nullopt;
}

}  // namespace acceld
