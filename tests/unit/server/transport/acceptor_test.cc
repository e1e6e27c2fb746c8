#include "server/transport/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <deque>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "tests/unit/server/transport/test_sockets.h"

namespace acceld {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{30};
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kOtherMagic[] = "acceld-data-1";

// An acceptor on a Unix socket whose handlers keep what they get.
class AcceptorTest : public ::testing::Test {
 protected:
  struct Taken {
    UniqueFd fd;
    Peer peer;
    std::string protocol;
  };

  void StartAcceptor(AcceptorOptions options = {}) {
    auto listener = ListenUnix(Path());
    ASSERT_TRUE(listener.ok()) << listener.status();
    std::vector<Listener> listeners;
    listeners.push_back(*std::move(listener));
    StartOn(std::move(listeners), std::move(options));
  }

  void StartOn(std::vector<Listener> listeners, AcceptorOptions options = {}) {
    options.on_stats = [this](const AcceptorStats& stats) {
      MutexLock lock(mutex_);
      stats_ = stats;
      changed_.NotifyAll();
    };
    const auto keep = [this](const char* protocol) {
      return [this, protocol](UniqueFd fd, const Peer& peer) {
        MutexLock lock(mutex_);
        taken_.push_back({std::move(fd), peer, protocol});
        changed_.NotifyAll();
      };
    };
    auto acceptor = Acceptor::Start(std::move(listeners),
                                    {{kHttp2Preface, keep("grpc")}, {kOtherMagic, keep("other")}},
                                    &table_, std::move(options));
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }

  std::string Path() const { return folder_.Path("s"); }

  // The next connection that a handler got.
  std::optional<Taken> Take() {
    MutexLock lock(mutex_);
    if (!changed_.WaitFor(mutex_, kPatience, [this] { return !taken_.empty(); })) {
      return std::nullopt;
    }
    Taken taken = std::move(taken_.front());
    taken_.pop_front();
    return taken;
  }

  template <typename Predicate>
  bool WaitForStats(Predicate predicate) {
    MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, kPatience, [&] { return predicate(stats_); });
  }

  // Whether `accepted` connections came and all are closed.
  bool WaitForAllClosed(std::uint64_t accepted) {
    return WaitForStats([accepted](const AcceptorStats& stats) {
      return stats.accepted == accepted && stats.open == 0;
    });
  }

  const SocketFolder folder_;
  ConnectionTable table_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Taken> taken_ ACCELD_GUARDED_BY(mutex_);
  AcceptorStats stats_ ACCELD_GUARDED_BY(mutex_);
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, HandsHttp2ToGrpcWithItsFirstBytesInPlace) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->protocol, "grpc");
  char bytes[sizeof(kPreface)] = {};
  EXPECT_EQ(recv(taken->fd.get(), bytes, sizeof(bytes), 0), std::ssize(kPreface) - 1);
  EXPECT_STREQ(bytes, kPreface);
}

TEST_F(AcceptorTest, TellsWhoConnected) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->peer.kind, Peer::Kind::kUnix);
  EXPECT_EQ(taken->peer.uid, geteuid());
  EXPECT_EQ(taken->peer.pid, getpid());
  EXPECT_NE(taken->peer.connection_id, 0u);
}

TEST_F(AcceptorTest, HandsOverANonBlockingDescriptorThatNoChildInherits) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_NE(fcntl(taken->fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(taken->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(AcceptorTest, ServesTcpWithoutDelayAndWithKeepAlive) {
  auto listeners = ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  const std::uint16_t port = PortOf(listeners->front().endpoint());
  StartOn(*std::move(listeners));
  const UniqueFd client = ConnectTcp(port);
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->peer.Identity(), "tcp:127.0.0.1");
  for (const auto& [level, option] : {std::pair<int, int>(IPPROTO_TCP, TCP_NODELAY),
                                      std::pair<int, int>(SOL_SOCKET, SO_KEEPALIVE)}) {
    int value = 0;
    socklen_t length = sizeof(value);
    ASSERT_EQ(getsockopt(taken->fd.get(), level, option, &value, &length), 0);
    EXPECT_EQ(value, 1) << option;
  }
}

TEST_F(AcceptorTest, ServesAllItsListeners) {
  std::vector<Listener> listeners;
  for (const char* name : {"a", "b"}) {
    auto listener = ListenUnix(folder_.Path(name));
    ASSERT_TRUE(listener.ok()) << listener.status();
    listeners.push_back(*std::move(listener));
  }
  StartOn(std::move(listeners));
  for (const char* name : {"b", "a", "b"}) {
    const UniqueFd client = ConnectUnix(folder_.Path(name));
    ASSERT_TRUE(SendAll(client.get(), kPreface));
    EXPECT_TRUE(Take().has_value()) << name;
  }
}

TEST_F(AcceptorTest, FirstBytesChooseTheHandler) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), std::string(kOtherMagic) + "and more"));
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->protocol, "other");
}

TEST_F(AcceptorTest, TakesAPrefaceOneByteAtATime) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  for (const char byte : std::string_view(kPreface)) {
    ASSERT_TRUE(SendAll(client.get(), std::string_view(&byte, 1)));
  }
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->protocol, "grpc");
}

TEST_F(AcceptorTest, ClosesWhatSpeaksNoKnownProtocol) {
  StartAcceptor();
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("PRI * HTTP/1.1"), std::string(1, '\0'),
        std::string(100000, '\xff')}) {
    const UniqueFd client = ConnectUnix(Path());
    SendAll(client.get(), garbage);
    EXPECT_EQ(ReadToEnd(client.get()), "");
  }
  EXPECT_TRUE(WaitForStats([](const AcceptorStats& s) { return s.unknown == 4 && s.open == 0; }));
}

TEST_F(AcceptorTest, ClosesWhatLeavesInTheMiddleOfAPreface) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), "PRI * HT"));
  shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(ReadToEnd(client.get()), "");
}

TEST_F(AcceptorTest, ClosesWhatSaysNothingInTime) {
  const auto start = std::chrono::steady_clock::now();
  StartAcceptor({.handshake_timeout = milliseconds(50)});
  const UniqueFd client = ConnectUnix(Path());
  EXPECT_EQ(ReadToEnd(client.get()), "");
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(50));
  EXPECT_TRUE(WaitForStats([](const AcceptorStats& s) { return s.timed_out == 1 && s.open == 0; }));
}

TEST_F(AcceptorTest, WaitsForTheRestOfAPrefaceWithoutSpinning) {
  StartAcceptor({.handshake_timeout = milliseconds(200)});
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), "PRI * HT"));
  EXPECT_EQ(ReadToEnd(client.get()), "");
  acceptor_->Stop();
  EXPECT_EQ(acceptor_->stats().timed_out, 1u);
  EXPECT_LT(acceptor_->stats().wake_ups, 20u);
}

TEST_F(AcceptorTest, ATimeLimitEndsWithTheHandshake) {
  StartAcceptor({.handshake_timeout = milliseconds(50)});
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  // A connection that came later runs into its limit, so that the first one's has passed too.
  const UniqueFd silent = ConnectUnix(Path());
  EXPECT_EQ(ReadToEnd(silent.get()), "");
  EXPECT_TRUE(WaitForStats([](const AcceptorStats& s) { return s.timed_out == 1 && s.open == 1; }));
}

TEST_F(AcceptorTest, TheTableKnowsAConnectionUntilItIsClosed) {
  StartAcceptor();
  UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  const std::string name = "fd:" + std::to_string(taken->fd.get());
  const auto found = table_.Find(name);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->connection_id, taken->peer.connection_id);
  client.Reset();
  EXPECT_TRUE(WaitForAllClosed(1));
  EXPECT_FALSE(table_.Find(name).has_value());
}

TEST_F(AcceptorTest, AHandlerThatEndsTheConnectionEndsItForTheClient) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  // As gRPC does before it closes a descriptor.
  shutdown(taken->fd.get(), SHUT_RDWR);
  taken->fd.Reset();
  EXPECT_TRUE(WaitForAllClosed(1));
  ReadToEnd(client.get());
  EXPECT_FALSE(SendAll(client.get(), "more"));
}

TEST_F(AcceptorTest, AClientThatStopsSendingStillGetsItsAnswer) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  shutdown(client.get(), SHUT_WR);
  ASSERT_TRUE(SendAll(taken->fd.get(), "answer"));
  shutdown(taken->fd.get(), SHUT_RDWR);
  EXPECT_EQ(ReadToEnd(client.get()), "answer");
}

TEST_F(AcceptorTest, DoesNotUseANumberAgainSoon) {
  StartAcceptor();
  int last = -1;
  for (int i = 0; i < 10; ++i) {
    const UniqueFd client = ConnectUnix(Path());
    ASSERT_TRUE(SendAll(client.get(), kPreface));
    auto taken = Take();
    ASSERT_TRUE(taken.has_value());
    EXPECT_GT(taken->fd.get(), last);
    last = taken->fd.get();
  }
}

TEST_F(AcceptorTest, ClosesNewcomersBeyondTheLimitAndRecovers) {
  constexpr std::uint32_t kLimit = 8;
  constexpr int kBeyond = 600;
  StartAcceptor({.max_connections = kLimit});
  std::vector<UniqueFd> clients;
  std::vector<Taken> served;
  for (std::uint32_t i = 0; i < kLimit; ++i) {
    clients.push_back(ConnectUnix(Path()));
    ASSERT_TRUE(SendAll(clients.back().get(), kPreface));
    auto taken = Take();
    ASSERT_TRUE(taken.has_value());
    served.push_back(*std::move(taken));
  }
  for (int i = 0; i < kBeyond; ++i) {
    const UniqueFd newcomer = ConnectUnix(Path());
    ASSERT_TRUE(newcomer.valid());
    ASSERT_EQ(ReadToEnd(newcomer.get()), "");
  }
  EXPECT_TRUE(WaitForStats([](const AcceptorStats& s) { return s.refused == kBeyond; }));

  // The old ones work on.
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ASSERT_TRUE(SendAll(served[i].fd.get(), "x"));
    char byte = 0;
    EXPECT_EQ(recv(clients[i].get(), &byte, 1, 0), 1);
  }
  // One leaves, and its place is free.
  clients.pop_back();
  EXPECT_TRUE(WaitForStats([](const AcceptorStats& s) { return s.open == kLimit - 1; }));
  clients.push_back(ConnectUnix(Path()));
  ASSERT_TRUE(SendAll(clients.back().get(), kPreface));
  EXPECT_TRUE(Take().has_value());
}

TEST_F(AcceptorTest, SilentConnectionsHaveALimitOfTheirOwn) {
  StartAcceptor({.handshake_timeout = kPatience, .max_pending = 2});
  UniqueFd first = ConnectUnix(Path());
  const UniqueFd second = ConnectUnix(Path());
  const UniqueFd third = ConnectUnix(Path());
  EXPECT_EQ(ReadToEnd(third.get()), "");
  // One speaks, and makes room for another.
  ASSERT_TRUE(SendAll(first.get(), kPreface));
  ASSERT_TRUE(Take().has_value());
  const UniqueFd fourth = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(fourth.get(), kPreface));
  EXPECT_TRUE(Take().has_value());
}

TEST_F(AcceptorTest, SurvivesRunningOutOfDescriptors) {
  StartAcceptor();
  // Made before the limit falls, so that only the acceptor runs into it.
  constexpr int kClients = 20;
  std::vector<UniqueFd> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, Path().c_str(), sizeof(address.sun_path) - 1);

  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  {
    const UniqueFd lowest_free(open("/dev/null", O_RDONLY | O_CLOEXEC));
    low.rlim_cur = lowest_free.get();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  for (const UniqueFd& client : clients) {
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  for (const UniqueFd& client : clients) EXPECT_EQ(ReadToEnd(client.get()), "");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);

  EXPECT_TRUE(WaitForStats([](const AcceptorStats& s) { return s.refused == kClients; }));
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  EXPECT_TRUE(Take().has_value());
}

// Connects, says the preface, forks a child that keeps the connection, and waits to be killed.
// Only system calls: the test's process has other threads.
[[noreturn]] void HoldConnectionWithAChild(const char* path, int report_fd) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) _exit(1);
  if (send(fd, kPreface, sizeof(kPreface) - 1, 0) < 0) _exit(1);
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  if (write(report_fd, &child, sizeof(child)) != sizeof(child)) _exit(1);
  while (true) pause();
}

TEST_F(AcceptorTest, AKilledProcessLosesItsConnectionThoughAForkedChildHoldsIt) {
  StartAcceptor();
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const UniqueFd report_read(report[0]);
  const UniqueFd report_write(report[1]);
  const std::string path = Path();
  const pid_t opener = fork();
  if (opener == 0) HoldConnectionWithAChild(path.c_str(), report_write.get());
  pid_t child = 0;
  ASSERT_EQ(read(report_read.get(), &child, sizeof(child)), ssize_t{sizeof(child)});
  auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->peer.pid, opener);
  char byte;
  EXPECT_EQ(recv(taken->fd.get(), &byte, 1, MSG_PEEK), 1);

  kill(opener, SIGKILL);
  waitpid(opener, nullptr, 0);
  EXPECT_EQ(ReadToEnd(taken->fd.get()), kPreface) << "The end of the connection is not seen.";
  EXPECT_EQ(kill(child, 0), 0) << "The child does not hold the connection any more.";
  EXPECT_TRUE(
      WaitForStats([](const AcceptorStats& s) { return s.peer_ended == 1 && s.open == 0; }));
  kill(child, SIGKILL);
}

TEST_F(AcceptorTest, AStoppedAcceptorTakesNoMoreAndKeepsWhatItHandedOver) {
  StartAcceptor();
  const UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  const UniqueFd silent = ConnectUnix(Path());
  ASSERT_TRUE(WaitForStats([](const AcceptorStats& s) { return s.pending == 1; }));

  acceptor_->Stop();
  EXPECT_FALSE(ConnectUnix(Path()).valid());
  EXPECT_EQ(ReadToEnd(silent.get()), "");
  ASSERT_TRUE(SendAll(taken->fd.get(), "x"));
  char byte = 0;
  EXPECT_EQ(recv(client.get(), &byte, 1, 0), 1);
  EXPECT_EQ(acceptor_->stats().open, 1u);
}

TEST_F(AcceptorTest, WatchesConnectionsAfterItStopped) {
  StartAcceptor();
  UniqueFd client = ConnectUnix(Path());
  ASSERT_TRUE(SendAll(client.get(), kPreface));
  const auto taken = Take();
  ASSERT_TRUE(taken.has_value());
  acceptor_->Stop();
  client.Reset();
  EXPECT_TRUE(WaitForAllClosed(1));
}

TEST_F(AcceptorTest, AfterItStoppedIgnoresASocketThatAnotherProcessKeepsOpen) {
  auto listener = ListenUnix(Path());
  ASSERT_TRUE(listener.ok()) << listener.status();
  // As the service manager keeps what it passed.
  const UniqueFd kept(dup(listener->fd()));
  ASSERT_EQ(link(Path().c_str(), folder_.Path("kept").c_str()), 0);
  std::vector<Listener> listeners;
  listeners.push_back(*std::move(listener));
  StartOn(std::move(listeners));
  acceptor_->Stop();
  const UniqueFd client = ConnectUnix(folder_.Path("kept"));
  ASSERT_TRUE(client.valid());
  pollfd nobody_answers{client.get(), POLLIN, 0};
  EXPECT_EQ(poll(&nobody_answers, 1, 100), 0);
  acceptor_->Close();
  EXPECT_LT(acceptor_->stats().wake_ups, 10u);
}

TEST_F(AcceptorTest, MayBeStoppedAndClosedByManyThreads) {
  StartAcceptor();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      acceptor_->Stop();
      acceptor_->Close();
      acceptor_->stats();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(ConnectUnix(Path()).valid());
}

TEST_F(AcceptorTest, LeaksNoDescriptor) {
  const int before = CountOpenFds();
  StartAcceptor({.handshake_timeout = milliseconds(20)});
  for (int i = 0; i < 50; ++i) {
    UniqueFd client = ConnectUnix(Path());
    switch (i % 4) {
      case 0:  // Says nothing and stays.
        EXPECT_EQ(ReadToEnd(client.get()), "");
        break;
      case 1:  // Leaves at once.
        break;
      case 2:
        SendAll(client.get(), "garbage");
        break;
      case 3:
        ASSERT_TRUE(SendAll(client.get(), kPreface));
        ASSERT_TRUE(Take().has_value());
        break;
    }
  }
  EXPECT_TRUE(WaitForAllClosed(50));
  acceptor_->Close();
  acceptor_.reset();
  EXPECT_EQ(CountOpenFds(), before);
}

TEST_F(AcceptorTest, ManyClientsAtOnceAreAllServed) {
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  StartAcceptor();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int j = 0; j < kEach; ++j) {
        const UniqueFd client = ConnectUnix(Path());
        EXPECT_TRUE(SendAll(client.get(), kPreface));
        auto taken = Take();
        ASSERT_TRUE(taken.has_value());
        EXPECT_EQ(taken->peer.pid, getpid());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(WaitForStats(
      [](const AcceptorStats& s) { return s.handed_over == kThreads * kEach && s.open == 0; }));
}

TEST_F(AcceptorTest, RefusesPrefixesThatCannotBeToldApart) {
  const auto start = [this](std::vector<std::string> prefixes) {
    std::vector<Protocol> protocols;
    for (std::string& prefix : prefixes) {
      protocols.push_back({std::move(prefix), [](UniqueFd, const Peer&) {}});
    }
    return Acceptor::Start({}, std::move(protocols), &table_).status();
  };
  EXPECT_EQ(start({""}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start({"PRI", "PRI * HTTP/2.0"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start({"same", "same"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start({std::string(kMaxPrefixBytes + 1, 'x')}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(start({"PRI", "PRO"}).ok());
}

}  // namespace
}  // namespace acceld
