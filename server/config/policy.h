// Who may do what.
#pragma once

#include "server/config/config.h"
#include "server/transport/peer.h"

namespace acceld {

// Whether `peer` may end other sessions and drain the daemon: whose identity is among
// `config.admins`. With none configured, the user that runs the daemon, over the Unix socket; a TCP
// peer only if it is listed.
bool IsAdmin(const Config& config, const Peer& peer);

}  // namespace acceld
