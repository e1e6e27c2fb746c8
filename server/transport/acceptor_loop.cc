#include "server/transport/acceptor_loop.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/logging/logging.h"
#include "server/service/file_limit.h"

namespace acceld {
namespace {

// Connections taken from one listener before others and what they say have their turn.
constexpr int kAcceptBatch = 64;
constexpr int kEventBatch = 128;

// Each connection takes three descriptors: one here, one for the process, one for its handler.
constexpr int kFdsPerConnection = 3;
// Left for everything else that the daemon opens.
constexpr int kReservedFds = 128;

// How long nothing is accepted after the system had no descriptor or memory for a connection.
constexpr std::chrono::milliseconds kAcceptPause{100};

// Numbers given to gRPC start here, above those that files and libraries take; halfway where the
// limit is low.
constexpr int kFirstFdNumber = 1024;

// After this a TCP peer that answers nothing is gone: a host that vanished holds no memory for
// long.
constexpr int kKeepAliveIdleSeconds = 10;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;

constexpr int kSourceBits = 2;

absl::Status CannotWatch(int error) {
  return absl::ErrnoToStatus(error, "Cannot set up the waiting for connections");
}

std::size_t ConnectionsWithin(std::uint32_t wanted, int file_limit) {
  const int possible = std::max(1, (file_limit - kReservedFds) / kFdsPerConnection);
  if (static_cast<std::uint32_t>(possible) >= wanted) return wanted;
  Log(LogLevel::kWarning, "fewer connections than configured fit the limit on open files",
      {{"max_connections", wanted}, {"possible", possible}, {"open_files", file_limit}});
  return possible;
}

void SetTcpOptions(int fd) {
  const auto set = [fd](int level, int option, int value) {
    // A connection works without these; a peer that just left makes them fail.
    setsockopt(fd, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

UniqueFd OpenSpare() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

absl::StatusOr<std::unique_ptr<AcceptLoop>> AcceptLoop::Create(std::vector<Listener> listeners,
                                                               std::vector<Protocol> protocols,
                                                               ConnectionTable* table,
                                                               const AcceptorOptions& options) {
  ACCELD_ASSIGN_OR_RETURN(ProtocolTable protocol_table,
                          ProtocolTable::Create(std::move(protocols)));
  std::unique_ptr<AcceptLoop> loop(
      new AcceptLoop(std::move(protocol_table), table, options, FileLimit()));
  ACCELD_RETURN_IF_ERROR(loop->Open(std::move(listeners)));
  return loop;
}

AcceptLoop::AcceptLoop(ProtocolTable protocols, ConnectionTable* table,
                       const AcceptorOptions& options, int file_limit)
    : protocols_(std::move(protocols)),
      table_(table),
      handshake_timeout_(options.handshake_timeout),
      max_pending_(options.max_pending),
      max_connections_(ConnectionsWithin(options.max_connections, file_limit)),
      on_closed_(options.on_closed),
      fd_numbers_(std::min(kFirstFdNumber, file_limit / 2), file_limit) {}

absl::Status AcceptLoop::Open(std::vector<Listener> listeners) {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  spare_ = OpenSpare();
  if (!epoll_.valid() || !wake_.valid() || !spare_.valid()) return CannotWatch(errno);
  if (!Watch(wake_.get(), Source::kWake, 0, EPOLLIN)) return CannotWatch(errno);
  for (Listener& listener : listeners) {
    const std::uint64_t id = ++last_id_;
    if (!Watch(listener.fd(), Source::kListener, id, EPOLLIN)) return CannotWatch(errno);
    listeners_.emplace(id, std::move(listener));
  }
  return absl::OkStatus();
}

bool AcceptLoop::Watch(int fd, Source source, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id << kSourceBits | static_cast<std::uint64_t>(source);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return true;
  return errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0;
}

void AcceptLoop::Wake() {
  const std::uint64_t one = 1;
  // It fails only where wake-ups that nobody took yet fill the counter; the loop wakes then too.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
}

void AcceptLoop::RunOnce() {
  std::array<epoll_event, kEventBatch> events;
  const int count = epoll_wait(epoll_.get(), events.data(), kEventBatch, WaitMs());
  ++stats_.wake_ups;
  for (int i = 0; i < count; ++i) Handle(events[i].data.u64, events[i].events);
  CloseSlow();
  if (resume_listening_at_.has_value() && Clock::now() >= *resume_listening_at_) {
    SetListening(true);
  }
}

void AcceptLoop::Handle(std::uint64_t token, std::uint32_t events) {
  const std::uint64_t id = token >> kSourceBits;
  switch (static_cast<Source>(token & ((1u << kSourceBits) - 1))) {
    case Source::kWake: {
      std::uint64_t ignored;
      [[maybe_unused]] const ssize_t taken = read(wake_.get(), &ignored, sizeof(ignored));
      return;
    }
    case Source::kListener:
      return AcceptFrom(id);
    case Source::kProcess:
      return HandleProcessEnd(id);
    case Source::kSocket: {
      const auto found = connections_.find(id);
      if (found == connections_.end()) return;
      if (found->second->handed_over_fd < 0) {
        return Examine(id, (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
      }
      // Nothing else is asked for once it is handed over.
      if ((events & (EPOLLHUP | EPOLLERR)) != 0) Forget(id);
      return;
    }
  }
}

// Until the next deadline, rounded up so that the loop does not spin for its last fraction.
int AcceptLoop::WaitMs() const {
  std::optional<Clock::time_point> next = resume_listening_at_;
  if (!deadlines_.empty()) {
    const Clock::time_point deadline = deadlines_.begin()->first;
    next = next.has_value() ? std::min(*next, deadline) : deadline;
  }
  if (!next.has_value()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, std::numeric_limits<int>::max()));
}

void AcceptLoop::AcceptFrom(std::uint64_t id) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return;
  const int listener = found->second.fd();
  for (int i = 0; i < kAcceptBatch; ++i) {
    UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      Admit(std::move(socket));
    } else if (!HandleAcceptError(errno, id)) {
      return;
    }
  }
}

// Whether to go on accepting at once.
bool AcceptLoop::HandleAcceptError(int error, std::uint64_t id) {
  const Listener& listener = listeners_.at(id);
  switch (error) {
    case EAGAIN:
      return false;
    case EMFILE:
    case ENFILE:
      if (RefuseWithSpare(listener.fd())) return true;
      SetListening(false);
      return false;
    case ENOBUFS:
    case ENOMEM:
      if (const auto held_back = refusal_log_.Admit()) {
        Log(LogLevel::kWarning, "no memory to accept connections",
            {{"endpoint", listener.endpoint()}, {"not_logged", *held_back}});
      }
      SetListening(false);
      return false;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP:
      Log(LogLevel::kError, "stopped listening",
          {{"endpoint", listener.endpoint()}, {"error", std::strerror(error)}});
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.fd(), nullptr);
      listeners_.erase(id);
      return false;
    default:
      // The connection ended before it was accepted, or a signal came (accept(2)).
      return true;
  }
}

// With no descriptor left, the newcomer would wait for ever and epoll report it for ever. False
// where another thread took the descriptor that was given up for it.
bool AcceptLoop::RefuseWithSpare(int listener_fd) {
  spare_.Reset();
  {
    const UniqueFd socket(accept4(listener_fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.valid()) Refuse("no descriptor is left");
  }
  spare_ = OpenSpare();
  return spare_.valid();
}

void AcceptLoop::SetListening(bool on) {
  resume_listening_at_.reset();
  if (!on) resume_listening_at_ = Clock::now() + kAcceptPause;
  if (on && !spare_.valid()) spare_ = OpenSpare();
  const std::uint32_t events = on ? EPOLLIN : 0u;
  for (const auto& [id, listener] : listeners_) {
    Watch(listener.fd(), Source::kListener, id, events);
  }
}

void AcceptLoop::Refuse(std::string_view why) {
  ++stats_.refused;
  if (const auto held_back = refusal_log_.Admit()) {
    Log(LogLevel::kWarning, "connection refused",
        {{"reason", why},
         {"open", stats_.open},
         {"pending", stats_.pending},
         {"not_logged", *held_back}});
  }
}

void AcceptLoop::Admit(UniqueFd socket) {
  if (connections_.size() >= max_connections_) return Refuse("too many connections");
  if (deadlines_.size() >= max_pending_) return Refuse("too many unauthenticated connections");

  absl::StatusOr<Peer> peer = PeerOf(socket.get());
  // It left already.
  if (!peer.ok()) {
    ++stats_.unknown;
    return;
  }
  absl::StatusOr<UniqueFd> process = WatchPeerProcess(socket.get(), *peer);
  if (absl::IsNotFound(process.status())) {
    ++stats_.peer_ended;
    return;
  }
  if (!process.ok()) return Refuse("no descriptor is left");
  if (peer->kind == Peer::Kind::kTcp) SetTcpOptions(socket.get());

  auto connection = std::make_unique<Connection>();
  const std::uint64_t id = ++last_id_;
  connection->socket = std::move(socket);
  connection->process = *std::move(process);
  connection->peer = *std::move(peer);
  connection->peer.connection_id = id;
  connection->deadline = Clock::now() + handshake_timeout_;
  // Edge-triggered: bytes that are looked at but left in place must not wake the loop again.
  const bool watched =
      Watch(connection->socket.get(), Source::kSocket, id, EPOLLIN | EPOLLRDHUP | EPOLLET) &&
      (!connection->process.valid() ||
       Watch(connection->process.get(), Source::kProcess, id, EPOLLIN));
  if (!watched) return Refuse("the system watches no more of them");

  ++stats_.accepted;
  ++stats_.open;
  ++stats_.pending;
  deadlines_.emplace(connection->deadline, id);
  connections_.emplace(id, std::move(connection));
  // Most clients have spoken by now; their places are free for the next one at once.
  Examine(id, /*will_send_no_more=*/false);
}

void AcceptLoop::Examine(std::uint64_t id, bool will_send_no_more) {
  Connection& connection = *connections_.at(id);
  std::array<char, kMaxPrefixBytes> start;
  const ssize_t length =
      recv(connection.socket.get(), start.data(), start.size(), MSG_PEEK | MSG_DONTWAIT);
  const bool has_nothing_yet = length < 0 && (errno == EAGAIN || errno == EINTR);
  if (has_nothing_yet && !will_send_no_more) return;

  ProtocolTable::Match match;
  if (length > 0) match = protocols_.Find({start.data(), static_cast<std::size_t>(length)});
  if (match.kind == ProtocolTable::Match::Kind::kFound)
    return HandOver(connection, *match.protocol);
  if (match.kind == ProtocolTable::Match::Kind::kNeedMore && !will_send_no_more) return;
  ++stats_.unknown;
  Forget(id);
}

void AcceptLoop::HandOver(Connection& connection, const Protocol& protocol) {
  const std::uint64_t id = connection.peer.connection_id;
  UniqueFd handed_over = fd_numbers_.Duplicate(connection.socket.get());
  // From here on only its end matters, which epoll reports unasked.
  if (!handed_over.valid() || !Watch(connection.socket.get(), Source::kSocket, id, 0)) {
    Refuse("no descriptor is left");
    return Forget(id);
  }
  deadlines_.erase({connection.deadline, id});
  --stats_.pending;
  ++stats_.handed_over;
  connection.handed_over_fd = handed_over.get();
  table_->Insert(connection.handed_over_fd, connection.peer);
  protocol.handler(std::move(handed_over), connection.peer);
}

void AcceptLoop::HandleProcessEnd(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  ++stats_.peer_ended;
  if (connection.handed_over_fd < 0) return Forget(id);
  connection.process.Reset();
  // The handler reads what has arrived and then the end; epoll reports the rest.
  shutdown(connection.socket.get(), SHUT_RDWR);
}

void AcceptLoop::CloseSlow() {
  if (deadlines_.empty()) return;
  const Clock::time_point now = Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    ++stats_.timed_out;
    Forget(deadlines_.begin()->second);
  }
}

void AcceptLoop::Forget(std::uint64_t id) {
  const auto found = connections_.find(id);
  const Connection& connection = *found->second;
  // Explicitly, since the handler's descriptor keeps the socket, and its events, alive.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.socket.get(), nullptr);
  if (connection.handed_over_fd >= 0) {
    table_->Erase(connection.handed_over_fd, id);
    if (on_closed_) on_closed_(connection.peer);
  } else {
    deadlines_.erase({connection.deadline, id});
    --stats_.pending;
  }
  --stats_.open;
  connections_.erase(found);
}

void AcceptLoop::StopAccepting() {
  // Explicitly, since a socket that the service manager passed stays open there, and in epoll.
  for (const auto& [id, listener] : listeners_) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.fd(), nullptr);
  }
  listeners_.clear();
  resume_listening_at_.reset();
  while (!deadlines_.empty()) Forget(deadlines_.begin()->second);
}

void AcceptLoop::ForgetAll() {
  StopAccepting();
  while (!connections_.empty()) Forget(connections_.begin()->first);
}

}  // namespace acceld
