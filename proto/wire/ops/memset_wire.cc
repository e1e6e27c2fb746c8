#include <cstdint>
#include <limits>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::Memset& op, v1::Memset& wire) {
  wire.set_target(op.target);
  wire.set_value(op.value);
  wire.set_size_bytes(op.bytes);
}

absl::StatusOr<ops::Memset> FromWire(const v1::Memset& wire) {
  constexpr std::uint8_t kMax = std::numeric_limits<std::uint8_t>::max();
  if (wire.value() > kMax) {
    return InvalidArgument(fmt::format("Argument value of {} is {}; it must be at most {}.",
                                       ops::Memset::kName, wire.value(), kMax));
  }
  return ops::Memset{.target = wire.target(),
                     .value = static_cast<std::uint8_t>(wire.value()),
                     .bytes = wire.size_bytes()};
}

}  // namespace acceld
