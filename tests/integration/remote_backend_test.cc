// The client library against the real daemon, where more than one process matters.

#include "client/remote_backend.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <vector>

#include "backends/core/status.h"
#include "client/connect.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"

namespace acceld {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;

// Five times the second that is promised.
constexpr std::chrono::seconds kPatience{5};

std::unique_ptr<ComputeBackend> ConnectTo(const std::string& endpoint) {
  absl::StatusOr<std::unique_ptr<ComputeBackend>> backend = Connect(endpoint);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

// An f32 gemm that takes the daemon long enough to be caught in the middle.
ops::Gemm LongGemm(Address data) {
  constexpr std::int64_t kSize = 2048;
  constexpr std::uint64_t kBytes = kSize * kSize * sizeof(float);
  return {.m = kSize,
          .n = kSize,
          .k = kSize,
          .a = data,
          .lda = kSize,
          .b = data + kBytes,
          .ldb = kSize,
          .c = data + 2 * kBytes,
          .ldc = kSize};
}
constexpr std::uint64_t kLongGemmBytes = 3 * 2048ull * 2048 * sizeof(float);

TEST(RemoteBackendTest, WaitingCallsOfEveryThreadReturnUnavailableWhenTheDaemonDies) {
  const auto daemon = DaemonProcess::Start();
  const auto backend = ConnectTo(daemon->unix_endpoint());
  const Address data = backend->Alloc(kLongGemmBytes).value();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(backend->Gemm(LongGemm(data)).ok());
  std::vector<std::future<absl::Status>> waiting;
  waiting.push_back(std::async(std::launch::async, [&] { return backend->Synchronize(); }));
  waiting.push_back(
      std::async(std::launch::async, [&] { return backend->SynchronizeStream(kDefaultStream); }));
  waiting.push_back(std::async(std::launch::async, [&] {
    std::array<std::byte, 4> bytes;
    return backend->CopyDtoH(absl::MakeSpan(bytes), data);
  }));
  daemon->Signal(SIGKILL);
  for (auto& result : waiting) {
    ASSERT_EQ(result.wait_for(kPatience), std::future_status::ready);
    const absl::Status status = result.get();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(GetReason(status), reason::kConnectionLost);
  }
  EXPECT_EQ(backend->Alloc(1).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(backend->Free(data).code(), absl::StatusCode::kUnavailable);
}

TEST(RemoteBackendTest, AForkedChildCannotUseItsParentsBackendAndEndsNothing) {
  const auto daemon = DaemonProcess::Start();
  auto backend = ConnectTo(daemon->unix_endpoint());
  const Address data = backend->Alloc(4).value();
  const pid_t child = fork();
  if (child == 0) {
    const absl::Status refused = backend->Free(data);
    const bool right = absl::IsFailedPrecondition(refused) &&
                       GetReason(refused) == reason::kForkedProcess && !backend->Alloc(4).ok() &&
                       !backend->Synchronize().ok();
    backend.reset();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(backend->Free(data).ok());
  EXPECT_TRUE(backend->Synchronize().ok());
}

TEST(RemoteBackendTest, ADrainingDaemonFinishesAndAnswersWhatItAccepted) {
  const auto daemon = DaemonProcess::Start();
  const auto backend = ConnectTo(daemon->unix_endpoint());
  const Address data = backend->Alloc(kLongGemmBytes).value();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(backend->Gemm(LongGemm(data)).ok());
  ASSERT_TRUE(backend->Memset(data, 0x7f, 1).ok());
  const absl::Span<std::byte> answer = backend->AllocHost(1).value();
  ASSERT_TRUE(backend->CopyDtoH(answer, data, kDefaultStream).ok());
  // A round trip on another stream: what was sent before it has been accepted.
  ASSERT_TRUE(backend->SynchronizeStream(backend->CreateStream().value()).ok());
  ASSERT_NE(answer[0], std::byte{0x7f});
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->Wait(), 0);
  EXPECT_EQ(backend->Synchronize().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(answer[0], std::byte{0x7f});
}

TEST(RemoteBackendTest, SynchronizingAStreamDoesNotWaitForAnother) {
  const auto daemon = DaemonProcess::Start();
  const auto backend = ConnectTo(daemon->unix_endpoint());
  const Address data = backend->Alloc(kLongGemmBytes).value();
  const Stream busy = backend->CreateStream().value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(backend->Gemm(LongGemm(data), busy).ok());
  const Event end = backend->CreateEvent().value();
  ASSERT_TRUE(backend->RecordEvent(end, busy).ok());
  ASSERT_TRUE(backend->SynchronizeStream(kDefaultStream).ok());
  EXPECT_FALSE(backend->QueryEvent(end).value());
}

TEST(RemoteBackendTest, ASenderFasterThanTheDaemonIsSlowedDownAndLosesNothing) {
  const auto daemon = DaemonProcess::Start();
  const auto backend = ConnectTo(daemon->tcp_endpoint());
  constexpr int kOps = 200'000;
  const Address counter = backend->Alloc(2 * sizeof(float)).value();
  const float one = 1;
  ASSERT_TRUE(
      backend
          ->CopyHtoD(counter + sizeof(float),
                     absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&one), sizeof one))
          .ok());
  for (int i = 0; i < kOps; ++i) {
    ASSERT_TRUE(backend
                    ->Binary({.op = BinaryOp::kAdd,
                              .n = 1,
                              .a = counter,
                              .b = counter + sizeof(float),
                              .output = counter})
                    .ok());
  }
  float count = 0;
  ASSERT_TRUE(
      backend->CopyDtoH(absl::MakeSpan(reinterpret_cast<std::byte*>(&count), sizeof count), counter)
          .ok());
  EXPECT_EQ(count, kOps);
}

TEST(RemoteBackendTest, TellsHowItReachesTheDaemonAndWhichDeviceItGot) {
  const auto daemon = DaemonProcess::Start();
  RemoteBackend backend(daemon->tcp_endpoint(), {.client_name = "a test"});
  ASSERT_TRUE(backend.Init().ok());
  EXPECT_EQ(backend.session().transport, "frames+tcp");
  EXPECT_THAT(backend.session().transport_note, HasSubstr("over a Unix socket only"));
  EXPECT_EQ(backend.session().identity, "tcp:127.0.0.1");
  EXPECT_EQ(backend.session().device.kind, BackendKind::kCpu);
  EXPECT_THAT(backend.session().choice, HasSubstr("cpu device 0: chosen"));
}

TEST(ConnectTest, TheEndpointChoosesTheTransportAndTheLogTellsIt) {
  const auto daemon = DaemonProcess::Start();
  const std::string place = daemon->unix_endpoint();
  const std::pair<const char*, const char*> cases[] = {{"", "over shm."},
                                                       {"?transport=best", "over shm."},
                                                       {"?transport=shm", "over shm."},
                                                       {"?transport=frames", "over frames+unix."},
                                                       {"?transport=grpc", "over grpc+unix."}};
  for (const auto& [option, told] : cases) {
    std::vector<std::string> lines;
    const auto backend =
        Connect(place + option, {.log = [&](std::string_view line) { lines.emplace_back(line); }});
    ASSERT_TRUE(backend.ok()) << backend.status();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_THAT(lines[0], HasSubstr(place));
    EXPECT_THAT(lines[0], HasSubstr(told));
  }
}

TEST(ConnectTest, SharedMemoryOverTcpIsUnsupportedWhereNothingElseWillDo) {
  const auto daemon = DaemonProcess::Start();
  const absl::Status status = Connect(daemon->tcp_endpoint() + "?transport=shm").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("over a Unix socket only"));
}

TEST(ConnectTest, AnUnavailableKindIsUnsupportedAndTheReasonIsTold) {
  const auto daemon = DaemonProcess::Start();
  const absl::Status status =
      Connect(daemon->unix_endpoint(), {.kind = BackendKind::kCuda}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuda"));
}

TEST(ConnectTest, WithoutADaemonTheErrorNamesWhatWasTriedAndHowToStartOne) {
  const absl::Status status =
      Connect("unix:/nonexistent/acceld.sock", {.timeout = absl::Seconds(2)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("unix:/nonexistent/acceld.sock"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("acceld"));
}

TEST(ConnectTest, WithoutAnEndpointTheEnvironmentIsLookedAt) {
  const auto daemon = DaemonProcess::Start();
  setenv("ACCELD_ENDPOINT", daemon->unix_endpoint().c_str(), 1);
  EXPECT_TRUE(Connect().ok());
  unsetenv("ACCELD_ENDPOINT");
}

TEST(ConnectTest, AMalformedEndpointIsAnInvalidArgument) {
  EXPECT_TRUE(absl::IsInvalidArgument(Connect("http://localhost").status()));
}

TEST(ConnectTest, AClientNameThatIsTooLongIsRefused) {
  const auto daemon = DaemonProcess::Start();
  const absl::Status status =
      Connect(daemon->unix_endpoint(), {.client_name = std::string(65, 'x')}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

}  // namespace
}  // namespace acceld
