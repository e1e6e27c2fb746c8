// Tells from a connection's first bytes which protocol it speaks.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/transport/acceptor.h"

namespace acceld {

class ProtocolTable {
 public:
  struct Match {
    enum class Kind : std::uint8_t { kUnknown, kNeedMore, kFound };
    Kind kind = Kind::kUnknown;
    const Protocol* protocol = nullptr;
  };

  // Invalid argument where a prefix is empty or too long, or the start of another one.
  static absl::StatusOr<ProtocolTable> Create(std::vector<Protocol> protocols);

  // `start` is all that has arrived so far, or its first kMaxPrefixBytes. No bytes need more.
  Match Find(std::string_view start) const;

 private:
  explicit ProtocolTable(std::vector<Protocol> protocols) : protocols_(std::move(protocols)) {}

  std::vector<Protocol> protocols_;
};

}  // namespace acceld
