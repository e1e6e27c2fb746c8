#include "server/transport/acceptor_protocols.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

absl::StatusOr<ProtocolTable> ProtocolTable::Create(std::vector<Protocol> protocols) {
  for (std::size_t i = 0; i < protocols.size(); ++i) {
    const std::string& prefix = protocols[i].prefix;
    if (prefix.empty() || prefix.size() > kMaxPrefixBytes) {
      return InvalidArgument(fmt::format("The prefix of a protocol has {} bytes; it needs 1 to {}.",
                                         prefix.size(), kMaxPrefixBytes));
    }
    for (std::size_t j = 0; j < protocols.size(); ++j) {
      if (i != j && protocols[j].prefix.starts_with(prefix)) {
        return InvalidArgument(
            fmt::format("The prefix \"{}\" of a protocol is the start of another's, \"{}\".",
                        absl::CEscape(prefix), absl::CEscape(protocols[j].prefix)));
      }
    }
  }
  return ProtocolTable(std::move(protocols));
}

ProtocolTable::Match ProtocolTable::Find(std::string_view start) const {
  Match match;
  for (const Protocol& protocol : protocols_) {
    if (start.starts_with(protocol.prefix)) return {Match::Kind::kFound, &protocol};
    if (std::string_view(protocol.prefix).starts_with(start)) match.kind = Match::Kind::kNeedMore;
  }
  return match;
}

}  // namespace acceld
