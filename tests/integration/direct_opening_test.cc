// Memory of a daemon's card that another process opens, on every transport. The card is not there:
// its memory lies in files.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/core/status.h"
#include "client/remote_backend.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;

constexpr char kFakeCard[] = "--plugin_folder=tests/testing/plugins/fake_card";
constexpr char kOpener[] = "tests/integration/opener_program";
constexpr std::uint64_t kBytes = 100'000;

// The opener, with the descriptor of a handle.
class Opener {
 public:
  explicit Opener(const ShareableHandle& handle) {
    int input[2];
    int output[2];
    EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
    input_.Reset(input[1]);
    output_.Reset(output[0]);
    const UniqueFd its_input(input[0]);
    const UniqueFd its_output(output[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its_input.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, its_output.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, handle.descriptor.get(), kDescriptor);
    std::vector<std::string> words = {kOpener, std::to_string(kDescriptor),
                                      std::to_string(handle.size_bytes), handle.device_uuid};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, kOpener, &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Opener() {
    if (pid_ > 0) End(SIGKILL);
  }

  // What it says first: "opened", or what is wrong.
  std::string Says() {
    std::string line;
    char c = 0;
    while (read(output_.get(), &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  // Ends it by a signal, or with 0 by the end of its input; its exit status, or -1 for a signal.
  int End(int signal) {
    input_.Reset();
    if (signal != 0) kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static constexpr int kDescriptor = 100;
  UniqueFd input_;
  UniqueFd output_;
  pid_t pid_ = -1;
};

std::unique_ptr<DaemonProcess> StartDaemon(bool allows) {
  const std::string config = ::testing::TempDir() + "/direct_opening_config";
  std::ofstream(config) << "allow_direct_opening: " << (allows ? "true" : "false") << "\n";
  return DaemonProcess::Start({kFakeCard, "--config=" + config});
}

std::unique_ptr<RemoteBackend> Connect(const std::string& endpoint, const std::string& transport,
                                       BackendKind kind = BackendKind::kCuda) {
  auto backend = std::make_unique<RemoteBackend>(endpoint + "?transport=" + transport,
                                                 ConnectOptions{.kind = kind});
  EXPECT_THAT(backend->Init(), IsOk());
  return backend;
}

// The descriptors that a process has open.
std::size_t DescriptorCount(pid_t pid) {
  const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", pid));
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class DirectOpeningTest : public ::testing::TestWithParam<const char*> {
 protected:
  ~DirectOpeningTest() override {
    backend_.reset();
    // What the card still has when it ends is misuse, which the daemon dies of.
    daemon_->Signal(SIGTERM);
    EXPECT_EQ(daemon_->Wait(), 0);
  }

  Address AllocOpenable() {
    const absl::StatusOr<Address> address = backend_->Alloc(kBytes, {.openable = true});
    EXPECT_THAT(address.status(), IsOk());
    return address.value_or(0);
  }
  int FirstByte(Address address) {
    std::byte first{};
    EXPECT_THAT(backend_->CopyDtoH(absl::MakeSpan(&first, 1), address), IsOk());
    return static_cast<int>(first);
  }

  const std::unique_ptr<DaemonProcess> daemon_ = StartDaemon(/*allows=*/true);
  std::unique_ptr<RemoteBackend> backend_ = Connect(daemon_->unix_endpoint(), GetParam());
};

INSTANTIATE_TEST_SUITE_P(Transports, DirectOpeningTest, ::testing::Values("shm", "frames"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DirectOpeningTest, AnotherProcessReadsAndWritesTheMemory) {
  const Address address = AllocOpenable();
  ASSERT_THAT(backend_->Memset(address, 41, kBytes), IsOk());
  ASSERT_THAT(backend_->Synchronize(), IsOk());
  const ShareableHandle handle = *backend_->ExportHandle(address);
  EXPECT_EQ(handle.size_bytes, kBytes);
  EXPECT_EQ(handle.device_uuid, backend_->devices().at(0).uuid);
  Opener opener(handle);
  EXPECT_EQ(opener.Says(), "opened");
  EXPECT_EQ(FirstByte(address), 42);
  Opener second(handle);
  EXPECT_EQ(second.Says(), "opened");
  EXPECT_EQ(FirstByte(address), 43);
  EXPECT_EQ(opener.End(0), 0);
  EXPECT_EQ(second.End(0), 0);
}

TEST_P(DirectOpeningTest, AnOpenerThatIsKilledHarmsNobody) {
  const Address address = AllocOpenable();
  const ShareableHandle handle = *backend_->ExportHandle(address);
  Opener opener(handle);
  EXPECT_EQ(opener.Says(), "opened");
  opener.End(SIGKILL);
  EXPECT_EQ(FirstByte(address), 1);
  EXPECT_THAT(backend_->Free(address), IsOk());
  EXPECT_EQ(FirstByte(AllocOpenable()), 0);
}

TEST_P(DirectOpeningTest, MemoryThatIsFreedIsNoSessionsWhileSomebodyHasIt) {
  Address address = AllocOpenable();
  const ShareableHandle handle = *backend_->ExportHandle(address);
  Opener opener(handle);
  EXPECT_EQ(opener.Says(), "opened");
  // The session goes, with all that it has.
  backend_ = Connect(daemon_->unix_endpoint(), GetParam());
  address = AllocOpenable();
  Opener late(handle);
  EXPECT_EQ(late.Says(), "opened");
  EXPECT_EQ(FirstByte(address), 0);
  EXPECT_EQ(late.End(0), 0);
  EXPECT_EQ(opener.End(0), 0);
}

TEST_P(DirectOpeningTest, WhatIsNoHandleIsRefusedInTheOtherProcess) {
  ShareableHandle handle = *backend_->ExportHandle(AllocOpenable());
  handle.size_bytes = 10 * kBytes;
  EXPECT_THAT(Opener(handle).Says(), HasSubstr("the memory is smaller"));
  handle.size_bytes = kBytes;
  handle.device_uuid = "GPU-fake-1";
  EXPECT_THAT(Opener(handle).Says(), HasSubstr("memory of device GPU-fake-1, and this is GPU-fak"));
  handle.device_uuid = "GPU-fake-0";
  handle.descriptor.Reset(open("/dev/zero", O_RDWR | O_CLOEXEC));
  EXPECT_THAT(Opener(handle).Says(), HasSubstr("is not of 100000 bytes of openable memory"));
}

TEST_P(DirectOpeningTest, TheDaemonOpensNothingAndKeepsNoDescriptor) {
  const Address address = AllocOpenable();
  const std::size_t before = DescriptorCount(daemon_->pid());
  const ShareableHandle handle = *backend_->ExportHandle(address);
  EXPECT_THAT(backend_->ImportHandle(handle).status(),
              IsStatus(absl::StatusCode::kUnimplemented, "takes no descriptors"));
  for (int i = 0; i < 100; ++i) EXPECT_THAT(backend_->ExportHandle(address).status(), IsOk());
  // The client may have a descriptor before the daemon has closed its own.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (DescriptorCount(daemon_->pid()) > before && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(DescriptorCount(daemon_->pid()), before);
}

TEST_P(DirectOpeningTest, ASessionExportsNothingOfAnother) {
  const Address address = AllocOpenable();
  const auto other = Connect(daemon_->unix_endpoint(), GetParam());
  EXPECT_THAT(other->ExportHandle(address).status(), HasReason(reason::kUnknownAddress));
}

TEST_P(DirectOpeningTest, TheCpuHasNone) {
  const auto on_cpu = Connect(daemon_->unix_endpoint(), GetParam(), BackendKind::kCpu);
  EXPECT_THAT(on_cpu->Alloc(kBytes, {.openable = true}).status(),
              IsStatus(absl::StatusCode::kUnimplemented, "no openable memory"));
}

TEST(DirectOpeningPolicyTest, ADaemonThatDoesNotAllowItSaysWhatWould) {
  const std::unique_ptr<DaemonProcess> daemon = StartDaemon(/*allows=*/false);
  for (const char* transport : {"shm", "frames"}) {
    const auto backend = Connect(daemon->unix_endpoint(), transport);
    const absl::Status denied = backend->Alloc(kBytes, {.openable = true}).status();
    EXPECT_THAT(denied, IsStatus(absl::StatusCode::kPermissionDenied, "allow_direct_opening"));
    EXPECT_THAT(denied, HasReason(reason::kPermissionDenied));
    EXPECT_THAT(backend->ExportHandle(*backend->Alloc(kBytes)).status(),
                HasReason(reason::kUnsupported));
  }
}

TEST(DirectOpeningPolicyTest, TransportsWithoutDescriptorsHaveNone) {
  const std::unique_ptr<DaemonProcess> daemon = StartDaemon(/*allows=*/true);
  for (const auto& [endpoint, transport] :
       {std::pair(daemon->tcp_endpoint(), "frames"), std::pair(daemon->tcp_endpoint(), "grpc"),
        std::pair(daemon->unix_endpoint(), "grpc")}) {
    const auto backend = Connect(endpoint, transport);
    EXPECT_THAT(backend->Alloc(kBytes, {.openable = true}).status(),
                IsStatus(absl::StatusCode::kUnimplemented, "passes no descriptors"));
    EXPECT_THAT(backend->ExportHandle(*backend->Alloc(kBytes)).status(),
                IsStatus(absl::StatusCode::kUnimplemented, "passes no descriptors"));
  }
}

}  // namespace
}  // namespace acceld
