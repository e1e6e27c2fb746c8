// How many fields a struct has, to notice one that its message lacks.
#pragma once

#include <cstddef>

namespace acceld {

namespace internal {

// Initializes a field of any type; never run.
struct AnyValue {
  template <typename T>
  operator T() const;
};

}  // namespace internal

// The number of fields of an aggregate: the most values that it can be initialized with.
template <typename T, typename... Values>
consteval std::size_t FieldCount() {
  if constexpr (requires { T{Values{}..., internal::AnyValue{}}; }) {
    return FieldCount<T, Values..., internal::AnyValue>();
  } else {
    return sizeof...(Values);
  }
}

}  // namespace acceld
