// Hands out the numbers of streams, events and programs: ever higher, never again.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/status.h"
#include "backends/memory/address_space.h"
#include "fmt/format.h"

namespace acceld {

class HandleRange {
 public:
  // The next number of the daemon's own, from 2^62 up.
  std::uint64_t Take() { return next_server_++; }

  // Takes the number a client chose: below 2^62 and above all it chose before. `what` is
  // "stream", "event" or "program".
  absl::Status Claim(std::uint64_t number, std::string_view what) {
    if (number < next_client_ || number >= kServerAddressBase) {
      return InvalidArgument(fmt::format(
          "The {} number {} is not in [{}, 2^62); numbers chosen by a client only grow.", what,
          number, next_client_));
    }
    next_client_ = number + 1;
    return absl::OkStatus();
  }

  // The next number of a client's own.
  std::uint64_t TakeClient() { return next_client_++; }

 private:
  std::uint64_t next_client_ = 1;
  std::uint64_t next_server_ = kServerAddressBase;
};

}  // namespace acceld
