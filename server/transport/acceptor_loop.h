// The acceptor's event loop, without its thread: epoll over listeners, connections and processes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/logging/log_rate_limiter.h"
#include "server/transport/acceptor.h"
#include "server/transport/acceptor_fd_numbers.h"
#include "server/transport/acceptor_protocols.h"

namespace acceld {

// Used by one thread; only Wake may be called from others.
class AcceptLoop {
 public:
  static absl::StatusOr<std::unique_ptr<AcceptLoop>> Create(std::vector<Listener> listeners,
                                                            std::vector<Protocol> protocols,
                                                            ConnectionTable* table,
                                                            const AcceptorOptions& options);

  // Waits until something happens, at least once to Wake, and handles it.
  void RunOnce();
  void Wake();

  // Closes the listeners and the pending connections.
  void StopAccepting();
  // Closes all that the loop holds; connections handed over live on in their handlers.
  void ForgetAll();

  const AcceptorStats& stats() const { return stats_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    UniqueFd socket;
    UniqueFd process;  // a pidfd; invalid where there is nothing to watch
    Peer peer;
    Clock::time_point deadline;  // to say what it speaks
    int handed_over_fd = -1;     // the number that the handler got; -1 while pending
  };

  // What an epoll event is about.
  enum class Source : std::uint8_t { kWake, kListener, kSocket, kProcess };

  AcceptLoop(ProtocolTable protocols, ConnectionTable* table, const AcceptorOptions& options,
             int file_limit);

  absl::Status Open(std::vector<Listener> listeners);
  bool Watch(int fd, Source source, std::uint64_t id, std::uint32_t events);
  void Handle(std::uint64_t token, std::uint32_t events);
  int WaitMs() const;

  // Accepting.
  void AcceptFrom(std::uint64_t id);
  bool HandleAcceptError(int error, std::uint64_t id);
  bool RefuseWithSpare(int listener_fd);
  void Admit(UniqueFd socket);
  void Refuse(std::string_view why);
  void SetListening(bool on);

  // Connections.
  void Examine(std::uint64_t id, bool will_send_no_more);
  void HandOver(Connection& connection, const Protocol& protocol);
  void HandleProcessEnd(std::uint64_t id);
  void CloseSlow();
  void Forget(std::uint64_t id);

  const ProtocolTable protocols_;
  ConnectionTable* const table_;
  const std::chrono::milliseconds handshake_timeout_;
  const std::size_t max_pending_;
  const std::size_t max_connections_;
  const std::function<void(const Peer&)> on_closed_;

  UniqueFd epoll_;
  UniqueFd wake_;
  // Given up for a moment to accept and close a connection when no descriptor is left.
  UniqueFd spare_;
  absl::flat_hash_map<std::uint64_t, Listener> listeners_;
  std::optional<Clock::time_point> resume_listening_at_;

  FdNumbers fd_numbers_;
  std::uint64_t last_id_ = 0;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  // Of the pending connections, soonest first.
  absl::btree_set<std::pair<Clock::time_point, std::uint64_t>> deadlines_;

  AcceptorStats stats_;
  LogRateLimiter refusal_log_{std::chrono::seconds(1)};
};

}  // namespace acceld
