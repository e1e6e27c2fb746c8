// The peers of the connections that gRPC serves.
//
// gRPC 1.51 tells a handler only "fd:<n>", the number of the descriptor it was given; this table
// tells whose it is. A number may be used again after its connection closed, so a session binds the
// peer when it opens and compares it on each call.
#pragma once

#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "backends/core/mutex.h"
#include "server/transport/peer.h"

namespace acceld {

// Thread-safe.
class ConnectionTable {
 public:
  // Records that descriptor `fd` belongs to `peer`, in place of what was recorded before.
  void Insert(int fd, Peer peer);

  // Forgets `fd`, unless it belongs to another connection by now.
  void Erase(int fd, std::uint64_t connection_id);

  // The peer behind "fd:<n>", the name that gRPC gives a connection; nothing for any other text and
  // for a connection that is closed.
  std::optional<Peer> Find(std::string_view grpc_peer) const;

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<int, Peer> peers_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
