// Contexts that many threads use at once, on a device with threads of its own.
#include <algorithm>
#include <random>

#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

constexpr std::uint64_t kBufferBytes = 64;

// Touches `target` before and after it records one event and waits for another.
std::vector<ProgramItem> ProgramOn(Address target, Event recorded, Event awaited) {
  const ops::Memset fill{.target = target, .bytes = kBufferBytes};
  return {fill, fill, EventItem{.event = recorded, .records = true}, EventItem{.event = awaited},
          fill};
}

class ThreadsTest : public ::testing::TestWithParam<int> {};

// What several threads submit at random to shared streams and events is all called back, once.
TEST_P(ThreadsTest, RandomWorkIsCalledBackOnceAndNeverDeadlocks) {
  constexpr int kThreads = 3;
  constexpr int kCalls = 3000;
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  HostDevice device(2);
  device.depth = static_cast<std::size_t>(GetParam());
  auto context = *DeviceContext::Create(device, Unowned(device));
  std::vector<Stream> streams = {kDefaultStream};
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) streams.push_back(*context->CreateStream({}));
  for (int i = 0; i < 3; ++i) events.push_back(*context->CreateEvent());
  const Address shared = *context->Alloc(kBufferBytes, {});

  std::atomic<int> submitted = 0;
  std::atomic<int> called = 0;
  const auto client = [&](unsigned thread) {
    std::mt19937 random(seed + thread);
    std::vector<std::byte> host(kBufferBytes);
    // Streams may touch the shared bytes in any order, so this thread's work has bytes of its own.
    const Address own = *context->Alloc(kBufferBytes, {});
    const Stream own_stream = *context->CreateStream({});
    const Program program = *context->DefineProgram(ProgramOn(own, events[0], events[1]));
    for (int i = 0; i < kCalls; ++i) {
      const Stream stream = streams[random() % streams.size()];
      const Event event = events[random() % events.size()];
      const auto count = [&called](const absl::Status&) { ++called; };
      absl::Status status;
      switch (random() % 11) {
        case 0:
          status = context->RecordEvent(event, stream, count);
          break;
        case 1:
          status = context->WaitEvent(stream, event, count);
          break;
        case 2:
          status = context->SynchronizeEvent(event, count);
          break;
        case 3:
          status = context->Write(own, host, own_stream, nullptr, count);
          break;
        case 4: {
          const Outcome<absl::Status> read;
          status = context->Read(absl::MakeSpan(host), own, own_stream, true, nullptr,
                                 [&called, read](absl::Status result) {
                                   ++called;
                                   read(std::move(result));
                                 });
          EXPECT_THAT(read.Get(), IsOk());
          break;
        }
        case 5: {
          const Address freed = *context->Alloc(kBufferBytes, {});
          status = context->Run(ops::Memset{.target = freed, .bytes = kBufferBytes}, stream, count);
          EXPECT_THAT(context->Free(freed), IsOk());
          break;
        }
        case 6:
          status = context->SynchronizeStream(stream, count);
          break;
        case 7: {
          const Stream temporary = *context->CreateStream({});
          status = context->WaitEvent(temporary, event, count);
          EXPECT_THAT(context->DestroyStream(temporary), IsOk());
          break;
        }
        case 8:
          status = context->Replay(program, {}, own_stream, count);
          break;
        case 9: {
          const Address freed = *context->Alloc(kBufferBytes, {});
          status = context->Replay(program, {{{own, freed}}}, stream, count);
          EXPECT_THAT(context->Free(freed), IsOk());
          break;
        }
        default:
          status = context->Run(ops::Memset{.target = shared, .bytes = 0}, stream, count);
          break;
      }
      EXPECT_THAT(status, IsOk());
      ++submitted;
      context->WaitForRoom(256);
    }
    const Outcome<absl::Status> all;
    EXPECT_THAT(context->Synchronize(all), IsOk());
    EXPECT_EQ(all.Get(), absl::OkStatus());
    EXPECT_EQ(all.calls(), 1u) << "It hangs.";
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(client, i);
  for (std::thread& thread : threads) thread.join();
  const Outcome<absl::Status> all;
  EXPECT_THAT(context->Synchronize(all), IsOk());
  ASSERT_EQ(all.Get(), absl::OkStatus());
  ASSERT_EQ(all.calls(), 1u) << "It hangs.";
  context->Close();
  EXPECT_EQ(called, submitted);
  EXPECT_EQ(context->live_bytes(), 0u);
}

// A context that is closed while others use it calls everything back, once, and frees everything.
TEST_P(ThreadsTest, CloseAmidstWorkCallsEverythingBackOnce) {
  for (int round = 0; round < 50; ++round) {
    HostDevice device(2);
    device.depth = static_cast<std::size_t>(GetParam());
    std::atomic<int> submitted = 0;
    std::atomic<int> called = 0;
    const Outcome<bool> device_unused;
    {
      auto context = *DeviceContext::Create(
          device, std::shared_ptr<WorkSink>(&device, [&](WorkSink*) { device_unused(true); }));
      const Event event = *context->CreateEvent();
      const auto client = [&](int thread) {
        const auto count = [&called](const absl::Status&) { ++called; };
        for (int i = 0;; ++i) {
          const absl::StatusOr<Address> address = context->Alloc(kBufferBytes, {});
          if (!address.ok()) return;
          const absl::StatusOr<Stream> stream = context->CreateStream({});
          if (!stream.ok()) return;
          const absl::StatusOr<Program> program =
              context->DefineProgram(ProgramOn(*address, event, event));
          const absl::Status statuses[] = {
              context->Replay(program.value_or(Program{0}), {}, *stream, count),
              context->Run(ops::Memset{.target = *address, .bytes = 8}, *stream, count),
              context->RecordEvent(event, *stream, count),
              context->SynchronizeEvent(event, count),
              context->WaitEvent(kDefaultStream, event, count),
              context->Synchronize(count),
          };
          submitted += static_cast<int>(
              std::count_if(std::begin(statuses), std::end(statuses),
                            [](const absl::Status& status) { return status.ok(); }));
          if (i == 20 && thread == 0) context->Close();
          (void)context->DestroyStream(*stream);
          (void)context->DestroyProgram(program.value_or(Program{0}));
          context->WaitForRoom(256);
        }
      };
      std::thread first(client, 0);
      std::thread second(client, 1);
      first.join();
      second.join();
    }
    ASSERT_TRUE(device_unused.Get());
    ASSERT_EQ(called, submitted);
    ASSERT_EQ(device.memory().free_bytes, device.memory().total_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(QueueDepth, ThreadsTest, ::testing::Values(1, 4));

}  // namespace
}  // namespace acceld
