#include "server/config/config_checks.h"

#include <arpa/inet.h>

#include <charconv>

#include "server/transport/listener_address.h"
#include "server/transport/peer.h"

namespace acceld {
namespace {

// Whether `text` is the identity of some peer, written as Peer::Identity writes it.
bool IsIdentity(std::string_view text) {
  Peer peer;
  if (text.starts_with("uid:")) {
    peer.kind = Peer::Kind::kUnix;
    std::from_chars(text.data() + 4, text.data() + text.size(), peer.uid);
    return peer.uid != Peer::kNoUser && peer.Identity() == text;
  }
  if (!text.starts_with("tcp:")) return false;
  peer.address = text.substr(4);
  if (peer.address.size() > 2 && peer.address.front() == '[' && peer.address.back() == ']') {
    peer.address = peer.address.substr(1, peer.address.size() - 2);
  }
  in6_addr binary;
  const int family = peer.address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  char canonical[INET6_ADDRSTRLEN];
  return inet_pton(family, peer.address.c_str(), &binary) == 1 &&
         inet_ntop(family, &binary, canonical, sizeof(canonical)) != nullptr &&
         peer.address == canonical && peer.Identity() == text;
}

}  // namespace

std::string OneLine(std::string_view message) {
  std::string line(message);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return line;
}

absl::Status CheckRange(std::string_view name, std::uint64_t value, Range range) {
  if (value >= range.min && value <= range.max) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} is {}; it must be from {} to {}.", name, value, range.min, range.max));
}

absl::Status CheckListen(std::string_view name, std::string_view text) {
  const auto parsed = ParseHostPort(text);
  if (parsed.ok()) return absl::OkStatus();
  const absl::string_view why = parsed.status().message();
  return InvalidArgument(
      fmt::format("{} is refused: {}", name, std::string_view(why.data(), why.size())));
}

absl::Status CheckIdentity(std::string_view name, std::string_view text) {
  if (IsIdentity(text)) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "{} is \"{}\"; it must be an identity such as uid:1000, tcp:127.0.0.1 or tcp:[::1].", name,
      text));
}

}  // namespace acceld
