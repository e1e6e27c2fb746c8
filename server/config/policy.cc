#include "server/config/policy.h"

#include <unistd.h>

#include <algorithm>

namespace acceld {

bool IsAdmin(const Config& config, const Peer& peer) {
  if (config.admins.empty()) return peer.kind == Peer::Kind::kUnix && peer.uid == geteuid();
  return std::ranges::find(config.admins, peer.Identity()) != config.admins.end();
}

}  // namespace acceld
