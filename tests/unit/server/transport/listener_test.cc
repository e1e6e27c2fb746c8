#include "server/transport/listener.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/transport/listener_address.h"
#include "server/transport/socket_address.h"
#include "tests/unit/server/transport/test_sockets.h"

namespace acceld {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// A socket that its process left behind: bound, and nobody listens.
void LeaveSocketBehind(const std::string& path) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd.get(), 1), 0);
}

TEST(ListenUnix, ConnectsAndRemovesItsFilesInTheEnd) {
  const SocketFolder folder;
  const std::string path = folder.Path("s");
  {
    auto listener = ListenUnix(path);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_EQ(listener->endpoint(), "unix:" + path);
    EXPECT_EQ(listener->kind(), Listener::Kind::kUnix);
    EXPECT_TRUE(ConnectUnix(path).valid());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path("")));
}

TEST(ListenUnix, LeaksNoDescriptor) {
  const SocketFolder folder;
  const int before = CountOpenFds();
  ASSERT_TRUE(ListenUnix(folder.Path("s")).ok());
  EXPECT_EQ(CountOpenFds(), before);
}

TEST(ListenUnix, MovedListenerKeepsItsFiles) {
  const SocketFolder folder;
  auto listener = ListenUnix(folder.Path("s"));
  ASSERT_TRUE(listener.ok()) << listener.status();
  const Listener moved = *std::move(listener);
  EXPECT_TRUE(ConnectUnix(folder.Path("s")).valid());
}

TEST(ListenUnix, MakesTheLastFolder) {
  const SocketFolder folder;
  ASSERT_TRUE(ListenUnix(folder.Path("acceld/s")).ok());
  struct stat file {};
  ASSERT_EQ(stat(folder.Path("acceld").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 022, 0u) << "Others may write.";
}

TEST(ListenUnix, DoesNotMakeMoreThanTheLastFolder) {
  const SocketFolder folder;
  const auto listener = ListenUnix(folder.Path("a/b/s"));
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(Message(listener.status()), HasSubstr(folder.Path("a/b")));
}

TEST(ListenUnix, PermissionsFollowTheMode) {
  const SocketFolder folder;
  const auto listener = ListenUnix(folder.Path("s"), 0642);
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat file {};
  ASSERT_EQ(stat(folder.Path("s").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0642u);
}

TEST(ListenUnix, PermissionsShutOthersOutByDefault) {
  const SocketFolder folder;
  const auto listener = ListenUnix(folder.Path("s"));
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat file {};
  ASSERT_EQ(stat(folder.Path("s").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, geteuid() == 0 ? 0660u : 0600u);
}

TEST(ListenUnix, RefusesAPathTooLongForASocket) {
  const SocketFolder folder;
  const std::string path = folder.Path(std::string(108 - folder.Path("").size(), 'x'));
  ASSERT_EQ(path.size(), 108u);
  const auto refused = ListenUnix(path);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(refused.status()), AllOf(HasSubstr("108 bytes"), HasSubstr("at most 107")));
  EXPECT_TRUE(ListenUnix(path.substr(0, 107)).ok());
}

TEST(ListenUnix, RefusesAnEmptyPath) {
  EXPECT_EQ(ListenUnix("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ListenUnix, RefusesASocketInUseAndNamesTheProcess) {
  const SocketFolder folder;
  const auto first = ListenUnix(folder.Path("s"));
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = ListenUnix(folder.Path("s"));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second.status()),
              HasSubstr("in use by another process (pid " + std::to_string(getpid()) + ")"));
  EXPECT_TRUE(ConnectUnix(folder.Path("s")).valid()) << "The first one lost its socket.";
}

TEST(ListenUnix, RefusesASocketThatAProgramWithoutLockListensOn) {
  const SocketFolder folder;
  const std::string path = folder.Path("s");
  const auto first = ListenUnix(path);
  ASSERT_TRUE(first.ok()) << first.status();
  // As if it were no daemon of ours: a new lock file is nobody's.
  std::filesystem::remove(path + ".lock");
  const auto second = ListenUnix(path);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second.status()), HasSubstr("(pid " + std::to_string(getpid()) + ")"));
  EXPECT_TRUE(ConnectUnix(path).valid());
}

TEST(ListenUnix, ReplacesASocketThatAProcessLeftBehind) {
  const SocketFolder folder;
  LeaveSocketBehind(folder.Path("s"));
  std::ofstream(folder.Path("s.lock")) << "12345\n";
  const auto listener = ListenUnix(folder.Path("s"));
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(ConnectUnix(folder.Path("s")).valid());
}

TEST(ListenUnix, KeepsAFileThatIsNoSocket) {
  const SocketFolder folder;
  std::ofstream(folder.Path("s")) << "precious";
  const auto refused = ListenUnix(folder.Path("s"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(refused.status()), HasSubstr("is not a socket"));
  EXPECT_TRUE(std::filesystem::exists(folder.Path("s")));
}

TEST(ListenUnix, LeavesAnotherSocketAtItsPathAlone) {
  const SocketFolder folder;
  const std::string path = folder.Path("s");
  {
    const auto listener = ListenUnix(path);
    ASSERT_TRUE(listener.ok()) << listener.status();
    std::filesystem::remove(path);
    LeaveSocketBehind(path);
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(ListenUnix, AFailedStartLeavesNoLockBehind) {
  const SocketFolder folder;
  std::ofstream(folder.Path("s")) << "precious";
  ASSERT_FALSE(ListenUnix(folder.Path("s")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.Path("s.lock")));
}

// Two daemons that start over and over: never do both have the socket, and each time one gets it.
TEST(ListenUnix, OfManyThatStartAtOnceOneListens) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  const SocketFolder folder;
  LeaveSocketBehind(folder.Path("s"));
  std::atomic<int> listening = 0;
  std::atomic<int> started = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const auto listener = ListenUnix(folder.Path("s"));
        if (!listener.ok()) {
          EXPECT_EQ(listener.status().code(), absl::StatusCode::kFailedPrecondition)
              << listener.status();
          continue;
        }
        EXPECT_EQ(listening.fetch_add(1), 0);
        EXPECT_TRUE(ConnectUnix(folder.Path("s")).valid());
        ++started;
        listening.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(started, 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path("")));
}

TEST(ListenTcp, ReportsThePortThatTheSystemChose) {
  auto listeners = ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  ASSERT_EQ(listeners->size(), 1u);
  EXPECT_EQ(listeners->front().kind(), Listener::Kind::kTcp);
  const std::uint16_t port = PortOf(listeners->front().endpoint());
  EXPECT_NE(port, 0);
  EXPECT_TRUE(ConnectTcp(port).valid());
}

TEST(ListenTcp, ANameGetsOnePortOnAllItsAddresses) {
  auto listeners = ListenTcp("localhost:0");
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  ASSERT_FALSE(listeners->empty());
  for (const Listener& listener : *listeners) {
    EXPECT_EQ(PortOf(listener.endpoint()), PortOf(listeners->front().endpoint()));
  }
}

TEST(ListenTcp, RefusesAPortInUse) {
  auto first = ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = ListenTcp(first->front().endpoint());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(Message(second.status()), HasSubstr("Address already in use"));
}

TEST(ListenTcp, RefusesAddressesOffLoopback) {
  for (const char* address :
       {"0.0.0.0:0", "[::]:0", "192.0.2.1:80", "128.0.0.1:0", "[::ffff:192.0.2.1]:0"}) {
    const auto refused = ListenTcp(address);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(Message(refused.status()), HasSubstr("insecure")) << address;
  }
}

TEST(ParseHostPort, SplitsWhatIsHostAndPort) {
  EXPECT_EQ(ParseHostPort("127.0.0.1:0")->host, "127.0.0.1");
  EXPECT_EQ(ParseHostPort("localhost:65535")->port, 65535);
  EXPECT_EQ(ParseHostPort("[::1]:8080")->host, "::1");
}

TEST(ParseHostPort, RefusesAnythingElse) {
  for (const char* text : {"", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1",
                           "127.0.0.1:65536", "127.0.0.1:99999999999", "127.0.0.1:80x", "::1:80",
                           "[::1]", "[]:80", "[localhost]:80", "local host:80", "unix:/x:1"}) {
    EXPECT_EQ(ParseHostPort(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

// Runs `check` in a child that finds `fds`, at 3 and up, as systemd would have passed them. Its
// exit status is what `check` returns.
int WithInheritedFds(const std::vector<int>& fds, const char* count, int (*check)()) {
  const pid_t child = fork();
  if (child == 0) {
    // Out of the way of the numbers they are to get.
    std::vector<int> moved;
    for (const int fd : fds) moved.push_back(fcntl(fd, F_DUPFD, 100));
    for (std::size_t i = 0; i < moved.size(); ++i) dup2(moved[i], 3 + static_cast<int>(i));
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", count, 1);
    setenv("LISTEN_FDNAMES", "api", 1);
    _exit(check());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool SayIfFalse(bool ok, const absl::Status& status) {
  if (!ok) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return ok;
}

TEST(InheritedListeners, AreTakenAsTheyAre) {
  const SocketFolder folder;
  auto unix_listener = ListenUnix(folder.Path("s"));
  auto tcp_listeners = ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(unix_listener.ok() && tcp_listeners.ok());
  EXPECT_EQ(WithInheritedFds({unix_listener->fd(), tcp_listeners->front().fd()}, "2",
                             [] {
                               const auto taken = TakeInheritedListeners();
                               const bool ok = taken.ok() && taken->size() == 2 &&
                                               taken->at(0).kind() == Listener::Kind::kUnix &&
                                               taken->at(0).endpoint().starts_with("unix:/tmp/") &&
                                               taken->at(1).kind() == Listener::Kind::kTcp &&
                                               taken->at(1).endpoint().starts_with("127.0.0.1:") &&
                                               (fcntl(3, F_GETFD) & FD_CLOEXEC) != 0 &&
                                               (fcntl(4, F_GETFL) & O_NONBLOCK) != 0 &&
                                               std::getenv("LISTEN_FDS") == nullptr &&
                                               std::getenv("LISTEN_PID") == nullptr &&
                                               std::getenv("LISTEN_FDNAMES") == nullptr;
                               return SayIfFalse(ok, taken.status()) ? 0 : 1;
                             }),
            0);
  EXPECT_TRUE(ConnectUnix(folder.Path("s")).valid()) << "The heir removed systemd's socket.";
}

int RefusedAs(const char* part) {
  const auto taken = TakeInheritedListeners();
  const bool ok = !taken.ok() && taken.status().code() == absl::StatusCode::kInvalidArgument &&
                  Message(taken.status()).find(part) != std::string::npos;
  return SayIfFalse(ok, taken.status()) ? 0 : 1;
}

TEST(InheritedListeners, RefuseWhatIsNoSocket) {
  const UniqueFd file(open("/dev/null", O_RDONLY));
  EXPECT_EQ(WithInheritedFds({file.get()}, "1", [] { return RefusedAs("3 is not a socket"); }), 0);
}

TEST(InheritedListeners, RefuseADatagramSocket) {
  const UniqueFd datagrams(socket(AF_UNIX, SOCK_DGRAM, 0));
  EXPECT_EQ(
      WithInheritedFds({datagrams.get()}, "1", [] { return RefusedAs("is not a stream socket"); }),
      0);
}

TEST(InheritedListeners, RefuseASocketThatDoesNotListen) {
  const UniqueFd idle(socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(WithInheritedFds({idle.get()}, "1", [] { return RefusedAs("does not listen"); }), 0);
}

TEST(InheritedListeners, RefuseTcpOffLoopback) {
  const UniqueFd any(socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(listen(any.get(), 1), 0);
  EXPECT_EQ(WithInheritedFds({any.get()}, "1", [] { return RefusedAs("not a loopback address"); }),
            0);
}

TEST(InheritedListeners, RefuseADescriptorThatIsNotOpen) {
  EXPECT_EQ(WithInheritedFds({}, "60", [] { return RefusedAs("Bad file descriptor"); }), 0);
}

TEST(InheritedListeners, RefuseACountThatIsNone) {
  for (const char* count : {"-1", "many", "65", "99999999999", ""}) {
    EXPECT_EQ(WithInheritedFds({}, count, [] { return RefusedAs("LISTEN_FDS"); }), 0) << count;
  }
}

TEST(InheritedListeners, OfAnotherProcessAreNotTaken) {
  EXPECT_EQ(WithInheritedFds({}, "1",
                             [] {
                               setenv("LISTEN_PID", "1", 1);
                               const auto taken = TakeInheritedListeners();
                               return taken.ok() && taken->empty() ? 0 : 1;
                             }),
            0);
}

TEST(SocketAddress, KnowsLoopback) {
  const auto listeners = ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(listeners.ok());
  SocketAddress address;
  ASSERT_EQ(getsockname(listeners->front().fd(), address.data(), address.length()), 0);
  EXPECT_TRUE(address.IsLoopback());
  EXPECT_EQ(address.Host(), "127.0.0.1");
  EXPECT_EQ(address.ToString(), listeners->front().endpoint());
  address.SetPort(80);
  EXPECT_EQ(address.ToString(), "127.0.0.1:80");
}

}  // namespace
}  // namespace acceld
