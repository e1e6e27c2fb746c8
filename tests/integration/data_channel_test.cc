// The client library and the daemon on every transport: when one of them dies, and when many
// threads use one backend.

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "backends/core/status.h"
#include "client/remote_backend.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"

namespace acceld {
namespace {

using testing::DaemonProcess;

// Five times the second that is promised.
constexpr std::chrono::seconds kPatience{5};

// Nothing here takes so long.
constexpr std::chrono::seconds kWatchdog{60};

struct Way {
  const char* name;
  bool over_tcp;
  const char* option;
  const char* transport;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class DataChannelTest : public ::testing::TestWithParam<Way> {
 protected:
  DataChannelTest() : daemon_(DaemonProcess::Start()), backend_(Connect()) {}

  std::unique_ptr<RemoteBackend> Connect() const {
    auto backend = std::make_unique<RemoteBackend>(Endpoint(), ConnectOptions{});
    const absl::Status status = backend->Init();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(backend->session().transport, GetParam().transport);
    return backend;
  }
  std::string Endpoint() const {
    return (GetParam().over_tcp ? daemon_->tcp_endpoint() : daemon_->unix_endpoint()) +
           GetParam().option;
  }
  bool IsSharedMemory() const { return std::string(GetParam().transport) == "shm"; }

  const std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<RemoteBackend> backend_;
};

// Ends the program where what it guards takes too long.
class Watchdog {
 public:
  explicit Watchdog(const char* what)
      : thread_([what, ended = ended_.get_future()] {
          if (ended.wait_for(kWatchdog) == std::future_status::ready) return;
          std::cerr << what << " has not ended in time.\n";
          std::abort();
        }) {}
  ~Watchdog() {
    ended_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> ended_;
  std::thread thread_;
};

std::chrono::nanoseconds CpuTimeOfThisProcess() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// In clock ticks.
long CpuTimeOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return user + system;
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

// ---- Death ----

TEST_P(DataChannelTest, ThreadsThatSendWhenTheDaemonDiesAreTold) {
  const Address data = backend_->Alloc(64).value();
  const auto send = [&] {
    absl::Status status;
    while (status.ok()) status = backend_->Memset(data, 1, 4);
    return status;
  };
  std::vector<std::future<absl::Status>> senders;
  for (int i = 0; i < 4; ++i) senders.push_back(std::async(std::launch::async, send));
  ASSERT_EQ(senders[0].wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  daemon_->Signal(SIGKILL);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (auto& sender : senders) {
    ASSERT_EQ(sender.wait_until(deadline), std::future_status::ready);
    EXPECT_EQ(sender.get().code(), absl::StatusCode::kUnavailable);
  }
}

TEST_P(DataChannelTest, WaitingCallsOfEveryThreadReturnUnavailableWhenTheDaemonDies) {
  const Address data = backend_->Alloc(kLongGemmBytes).value();
  const Stream stream = backend_->CreateStream().value();
  const Event event = backend_->CreateEvent().value();
  const absl::Span<std::byte> host = backend_->AllocHost(1 << 20).value();
  std::vector<std::byte> bytes(8 << 20);
  const absl::Span<std::byte> target = absl::MakeSpan(bytes);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(backend_->Gemm(LongGemm(data)).ok());
  ASSERT_TRUE(backend_->RecordEvent(event).ok());

  const std::vector<std::function<absl::Status()>> calls = {
      [&] { return backend_->Synchronize(); },
      [&] { return backend_->SynchronizeStream(kDefaultStream); },
      [&] { return backend_->SynchronizeEvent(event); },
      [&] { return backend_->CopyDtoH(target.first(4), data); },
      [&] { return backend_->CopyDtoH(target, data); },
      [&] { return backend_->CopyDtoH(host, data); },
      // Until it has to wait for room, or for somewhere to stage.
      [&] {
        absl::Status status;
        while (status.ok()) status = backend_->CopyHtoD(data, target.first(2 << 20));
        return status;
      },
      [&] {
        absl::Status status;
        while (status.ok()) status = backend_->Memset(data, 1, 4, stream);
        return status;
      },
      [&] {
        absl::Status status;
        while (status.ok()) status = backend_->Alloc(64).status();
        return status;
      },
  };
  std::vector<std::future<absl::Status>> waiting;
  for (const auto& call : calls) waiting.push_back(std::async(std::launch::async, call));
  // All are under way once the last one has begun; what they do before they wait is short.
  ASSERT_EQ(waiting[0].wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  daemon_->Signal(SIGKILL);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    ASSERT_EQ(waiting[i].wait_until(deadline), std::future_status::ready) << "call " << i;
    const absl::Status status = waiting[i].get();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << "call " << i << ": " << status;
  }

  EXPECT_TRUE(absl::IsUnavailable(backend_->Alloc(1).status()));
  EXPECT_TRUE(absl::IsUnavailable(backend_->Free(data)));
  EXPECT_TRUE(absl::IsUnavailable(backend_->Memset(data, 0, 4)));
  EXPECT_TRUE(absl::IsUnavailable(backend_->CopyHtoD(data, target)));
  EXPECT_TRUE(absl::IsUnavailable(backend_->CopyDtoH(target, data)));
  EXPECT_TRUE(absl::IsUnavailable(backend_->Synchronize()));
  EXPECT_TRUE(absl::IsUnavailable(backend_->QueryEvent(event).status()));
  EXPECT_TRUE(absl::IsUnavailable(backend_->AllocHost(1).status()));
  EXPECT_TRUE(absl::IsUnavailable(backend_->CreateStream().status()));

  // No thread goes on looking for an answer.
  const auto before = CpuTimeOfThisProcess();
  std::promise<void> never;
  never.get_future().wait_for(std::chrono::milliseconds(200));
  EXPECT_LT(CpuTimeOfThisProcess() - before, std::chrono::milliseconds(40));
  const Watchdog watchdog("The backend's destructor");
  backend_.reset();
}

TEST_P(DataChannelTest, SharedMemoryOutlivesTheDaemon) {
  const absl::Span<std::byte> host = backend_->AllocHost(1 << 20).value();
  std::fill(host.begin(), host.end(), std::byte{5});
  absl::Span<std::byte> view;
  if (IsSharedMemory()) {
    const Address mapped = backend_->Alloc(1 << 20, {.mappable = true}).value();
    view = backend_->Map(mapped).value();
    std::fill(view.begin(), view.end(), std::byte{6});
  }
  daemon_->Signal(SIGKILL);
  daemon_->Wait();
  const absl::Status lost = backend_->Synchronize();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_EQ(host[host.size() - 1], std::byte{5});
  EXPECT_TRUE(view.empty() || view[view.size() - 1] == std::byte{6});
  // Whatever it says, it does not crash.
  (void)backend_->FreeHost(host.data());
}

TEST_P(DataChannelTest, AForkedChildCannotUseItsParentsBackendAndEndsNothing) {
  const Address data = backend_->Alloc(1 << 20).value();
  const absl::Span<std::byte> host = backend_->AllocHost(1 << 20).value();
  std::fill(host.begin(), host.end(), std::byte{7});
  const Event event = backend_->CreateEvent().value();
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::byte> bytes(1 << 20);
    const std::vector<absl::Status> refused = {
        backend_->Free(data),
        backend_->Alloc(4).status(),
        backend_->AllocHost(4).status(),
        backend_->CopyHtoD(data, absl::MakeConstSpan(bytes)),
        backend_->CopyDtoH(absl::MakeSpan(bytes), data),
        backend_->Memset(data, 0, 4),
        backend_->CreateStream().status(),
        backend_->RecordEvent(event),
        backend_->QueryEvent(event).status(),
        backend_->SynchronizeEvent(event),
        backend_->Synchronize(),
        backend_->FreeHost(host.data()),
    };
    int wrong = 0;
    for (const absl::Status& status : refused) {
      wrong += GetReason(status) != reason::kForkedProcess;
    }
    backend_.reset();
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(backend_->CopyHtoD(data, host).ok());
  std::vector<std::byte> bytes(1 << 20);
  ASSERT_TRUE(backend_->CopyDtoH(absl::MakeSpan(bytes), data).ok());
  EXPECT_EQ(bytes.back(), std::byte{7});
}

// ---- Many threads ----

// Copies of its own back and forth, on a stream of its own, ordered with the other threads' by
// events; wrong bytes are an error.
absl::Status CopyAtRandom(ComputeBackend& backend, std::uint64_t seed,
                          const std::vector<Event>& events,
                          std::chrono::steady_clock::time_point end) {
  constexpr std::uint64_t kBytes = 6 << 20;
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  ACCELD_ASSIGN_OR_RETURN(const Address data, backend.Alloc(kBytes));
  ACCELD_ASSIGN_OR_RETURN(const Stream stream, backend.CreateStream());
  ACCELD_ASSIGN_OR_RETURN(const absl::Span<std::byte> host, backend.AllocHost(kBytes));
  std::vector<std::byte> source(kBytes);
  std::vector<std::byte> target(kBytes);
  for (std::byte& each : source) each = static_cast<std::byte>(random());
  std::copy(source.begin(), source.end(), host.begin());
  ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(data, absl::MakeConstSpan(source), stream));
  while (std::chrono::steady_clock::now() < end) {
    const std::uint64_t size = below(2) == 0 ? below(16384) : below(kBytes);
    const std::uint64_t offset = below(kBytes - size + 1);
    const Event event = events[below(events.size())];
    switch (below(6)) {
      case 0:
        ACCELD_RETURN_IF_ERROR(backend.RecordEvent(event, stream));
        break;
      case 1:
        ACCELD_RETURN_IF_ERROR(backend.WaitEvent(stream, event));
        break;
      case 2:
        ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(
            data + offset, absl::MakeConstSpan(source).subspan(offset, size), stream));
        break;
      case 3:
        ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(data + offset, host.subspan(offset, size), stream));
        break;
      case 4:
        ACCELD_RETURN_IF_ERROR(backend.SynchronizeEvent(event));
        break;
      default: {
        const auto part = absl::MakeSpan(target).subspan(0, size);
        ACCELD_RETURN_IF_ERROR(backend.CopyDtoH(part, data + offset, stream));
        ACCELD_RETURN_IF_ERROR(backend.SynchronizeStream(stream));
        if (!std::equal(part.begin(), part.end(), source.begin() + offset)) {
          return absl::DataLossError("Other bytes came back than were sent.");
        }
      }
    }
  }
  ACCELD_RETURN_IF_ERROR(backend.SynchronizeStream(stream));
  return backend.FreeHost(host.data());
}

TEST_P(DataChannelTest, LargeCopiesOfThreadsThatWaitForEachOthersEventsNeverDeadlock) {
  const std::uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  const Watchdog watchdog("Copying at random");
  const std::vector<Event> events = {backend_->CreateEvent().value(),
                                     backend_->CreateEvent().value()};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  std::vector<std::future<absl::Status>> copies;
  for (std::uint64_t i = 0; i < 3; ++i) {
    copies.push_back(std::async(std::launch::async,
                                [&, i] { return CopyAtRandom(*backend_, seed + i, events, end); }));
  }
  for (auto& copy : copies) {
    const absl::Status status = copy.get();
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(backend_->Synchronize().ok());
}

TEST_P(DataChannelTest, ThreadsAllocateAndMapAtTheSameTime) {
  const Watchdog watchdog("Allocating and mapping");
  std::vector<std::future<absl::Status>> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.push_back(std::async(std::launch::async, [&, thread]() -> absl::Status {
      const auto mark = static_cast<std::byte>(thread + 1);
      for (int i = 0; i < 50; ++i) {
        ACCELD_ASSIGN_OR_RETURN(const absl::Span<std::byte> host,
                                backend_->AllocHost(5000 + 100 * thread));
        std::fill(host.begin(), host.end(), mark);
        ACCELD_ASSIGN_OR_RETURN(const Address data,
                                backend_->Alloc(host.size(), {.mappable = IsSharedMemory()}));
        ACCELD_RETURN_IF_ERROR(backend_->CopyHtoD(data, host));
        ACCELD_RETURN_IF_ERROR(backend_->SynchronizeStream(kDefaultStream));
        if (IsSharedMemory()) {
          ACCELD_ASSIGN_OR_RETURN(const absl::Span<std::byte> view, backend_->Map(data));
          if (!std::equal(view.begin(), view.end(), host.begin(), host.end())) {
            return absl::DataLossError("The view is another's.");
          }
          ACCELD_RETURN_IF_ERROR(backend_->Unmap(data));
        }
        ACCELD_RETURN_IF_ERROR(backend_->Free(data));
        ACCELD_RETURN_IF_ERROR(backend_->FreeHost(host.data()));
      }
      return absl::OkStatus();
    }));
  }
  for (auto& thread : threads) {
    const absl::Status status = thread.get();
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_P(DataChannelTest, NobodyIsBusyWhileNothingHappens) {
  ASSERT_TRUE(backend_->Synchronize().ok());
  const long daemon_before = CpuTimeOf(daemon_->pid());
  const auto before = CpuTimeOfThisProcess();
  std::promise<void> never;
  never.get_future().wait_for(std::chrono::seconds(1));
  // A tick has 10 ms.
  EXPECT_LE(CpuTimeOf(daemon_->pid()) - daemon_before, 2);
  EXPECT_LT(CpuTimeOfThisProcess() - before, std::chrono::milliseconds(20));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, DataChannelTest,
    ::testing::Values(Way{"Shm", false, "?transport=shm", "shm"},
                      Way{"FramesUnix", false, "?transport=frames", "frames+unix"},
                      Way{"FramesTcp", true, "?transport=frames", "frames+tcp"},
                      Way{"Grpc", false, "?transport=grpc", "grpc+unix"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace acceld
