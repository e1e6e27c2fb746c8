// The daemon's data channels: takes over connections that begin with the channel's magic, and
// serves them on one thread.
#pragma once

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "backends/core/unique_fd.h"
#include "server/session/session_table.h"
#include "server/transport/data/poller.h"
#include "server/transport/data/task_thread.h"
#include "server/transport/peer.h"

namespace acceld {

// Thread-safe.
class DataServer {
 public:
  // `sessions` outlives it. When the server goes, all of them have ended and their work is done.
  static absl::StatusOr<std::unique_ptr<DataServer>> Start(
      SessionTable& sessions, const SessionLimits& limits,
      std::chrono::milliseconds handshake_timeout);

  // Serves a connection whose first bytes are the magic; nothing is read from it yet.
  void Serve(UniqueFd connection, const Peer& peer);

  ~DataServer();

  // Waits until all connections are closed, which the end of their sessions brings about, at most
  // `grace`.
  void AwaitClosed(std::chrono::milliseconds grace) const;

 private:
  DataServer(SessionTable& sessions, const SessionLimits& limits,
             std::chrono::milliseconds handshake_timeout);

  const SessionLimits limits_;
  // Of the poller, the tasks and the connections, so it goes last.
  const DataConnection::Context context_;
  // Outlives the tasks, which call it.
  std::unique_ptr<Poller> poller_;
  TaskThread tasks_;
};

}  // namespace acceld
