// Enums as they come from the wire, where they hold any 32-bit number.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace acceld {

// `number` as an E, whose numbers are those of the wire. A number that E cannot hold becomes 0,
// which is no value of any enum of ours (IsValid refuses it), so that 257 does not turn into 1.
template <typename E>
constexpr E EnumFromWire(int number) {
  using Underlying = std::underlying_type_t<E>;
  static_assert(std::is_same_v<Underlying, std::uint8_t>);
  const bool representable = number >= 0 && number <= std::numeric_limits<Underlying>::max();
  return representable ? static_cast<E>(number) : E{0};
}

}  // namespace acceld
