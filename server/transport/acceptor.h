// Takes connections in and hands each to the protocol that it speaks.
//
// The life of a connection:
//  1. It is accepted on any of the listeners, and the kernel says whose it is (Peer).
//  2. It takes a counted place and has a time limit to say what it speaks. Too many, too slow or
//     something unknown: it is closed, and nobody else notices.
//  3. Its first bytes, which are looked at and left in place, choose the handler; gRPC's are those
//     of HTTP/2. The handler gets a descriptor of its own and the Peer, which is also found in the
//     ConnectionTable by the descriptor's number.
//  4. From then on it is only watched. When the process that opened it ends, the connection is shut
//     down for good, even if a forked child still holds it: the handler reads its end at once.
//  5. When it is closed by either side, its place is free again.
//
// One thread does all this with epoll, so that no number of connections costs a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/mutex.h"
#include "backends/core/unique_fd.h"
#include "server/transport/connection_table.h"
#include "server/transport/listener.h"
#include "server/transport/peer.h"

namespace acceld {

// What every HTTP/2 client sends first, and so every gRPC client.
inline constexpr char kHttp2Preface[] = "PRI * HTTP/2.0";

// A protocol and how its clients are told from others.
struct Protocol {
  // What a connection that speaks it starts with, at most kMaxPrefixBytes; no protocol's prefix is
  // the start of another's.
  std::string prefix;
  // Takes a connection over: non-blocking, and nothing is read from it yet. Runs on the acceptor's
  // thread, so it has to be quick, and must not call Stop or Close.
  std::function<void(UniqueFd fd, const Peer& peer)> handler;
};

inline constexpr std::size_t kMaxPrefixBytes = 64;

// Counts since the start, except the two last.
struct AcceptorStats {
  std::uint64_t accepted = 0;     // all connections that were let in
  std::uint64_t handed_over = 0;  // those that spoke a known protocol
  std::uint64_t refused = 0;      // over a limit, or no descriptor was left
  std::uint64_t timed_out = 0;    // said too little in time
  std::uint64_t unknown = 0;      // spoke no known protocol, or left before it could be told
  std::uint64_t peer_ended = 0;   // shut down since the process that opened it ended
  std::uint64_t wake_ups = 0;     // of the thread; grows with events, not with time
  std::uint64_t pending = 0;      // now open and not yet handed over
  std::uint64_t open = 0;         // now open, pending ones included

  friend bool operator==(const AcceptorStats&, const AcceptorStats&) = default;
};

struct AcceptorOptions {
  // How long a connection may take to say what it speaks.
  std::chrono::milliseconds handshake_timeout{5000};
  // Connections that have not yet said so; newcomers beyond are closed at once.
  std::uint32_t max_pending = 256;
  // All connections; newcomers beyond are closed at once. Less where the process may not open the
  // three descriptors that each takes.
  std::uint32_t max_connections = 4096;
  // Called on the acceptor's thread after the counts changed, for metrics; may be empty.
  std::function<void(const AcceptorStats&)> on_stats{};
  // Called on the acceptor's thread when a connection that was handed over is closed and out of the
  // table; may be empty.
  std::function<void(const Peer&)> on_closed{};
};

class AcceptLoop;

// Thread-safe.
class Acceptor {
 public:
  // Starts to accept on `listeners`. `table` outlives the acceptor. Invalid argument where two
  // prefixes cannot be told apart, or one is empty or too long.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(std::vector<Listener> listeners,
                                                         std::vector<Protocol> protocols,
                                                         ConnectionTable* table,
                                                         AcceptorOptions options = {});

  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Takes no more connections: closes the listeners and what has not been handed over. The others
  // are watched on. When it returns, no handler runs or will run.
  void Stop();

  // Stops, and watches no connection any more. Those handed over stay open until their handlers
  // close them, so end these first.
  void Close();

  AcceptorStats stats() const;

 private:
  // Each includes those before it.
  enum class Phase : std::uint8_t { kAccepting, kStopped, kClosed };

  Acceptor(std::unique_ptr<AcceptLoop> loop, AcceptorOptions options);

  void Run();
  void Request(Phase phase) ACCELD_EXCLUDES(mutex_);

  const std::unique_ptr<AcceptLoop> loop_;
  const std::function<void(const AcceptorStats&)> on_stats_;

  mutable Mutex mutex_;
  CondVar reached_changed_;
  Phase requested_ ACCELD_GUARDED_BY(mutex_) = Phase::kAccepting;
  Phase reached_ ACCELD_GUARDED_BY(mutex_) = Phase::kAccepting;
  AcceptorStats stats_ ACCELD_GUARDED_BY(mutex_);

  Mutex join_mutex_;
  std::thread thread_ ACCELD_GUARDED_BY(join_mutex_);
};

}  // namespace acceld
