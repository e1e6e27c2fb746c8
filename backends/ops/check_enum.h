// The check of an op's enum fields, which may hold any number a peer sent.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "backends/core/enum_table.h"

namespace acceld {

namespace internal {
absl::Status InvalidEnum(int value, std::string_view op_name, std::string_view argument,
                         std::string_view allowed_first, std::string_view allowed_last);
}  // namespace internal

// Whether `value` is one of its enum's values. The error names `op_name` and `argument`.
template <typename E>
absl::Status CheckEnum(E value, std::string_view op_name, std::string_view argument) {
  if (IsValid(value)) return absl::OkStatus();
  const auto& entries = EnumTable<E>::kEntries;
  return internal::InvalidEnum(static_cast<int>(value), op_name, argument, entries.front().name,
                               entries.back().name);
}

}  // namespace acceld
