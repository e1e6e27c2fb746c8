#include "server/session/session.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/faulty_device.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/context/outcome.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kBytes = 16;
constexpr Address kChosen = 1 << 20;

class SessionTest : public ::testing::Test {
 protected:
  using Result = Outcome<CommandResult>;

  explicit SessionTest(std::size_t queue_depth = 1) {
    host_.depth = queue_depth;
    scheduler_.emplace(device_);
    session_ = Make({});
  }

  ~SessionTest() override {
    device_.OpenGate();
    session_->End(absl::CancelledError("The test is over."));
    EXPECT_EQ(memory_->used_bytes(), 0u);
    EXPECT_EQ(device_.live_bytes(), 0u);
  }

  std::shared_ptr<Session> Make(const SessionLimits& limits) {
    return *Session::Create({.id = 7}, device_, *scheduler_, limits, memory_);
  }

  template <typename Action>
  Result Submit(Action action, Stream stream = kDefaultStream) {
    Result result;
    session_->Submit({.stream = stream, .action = std::move(action)}, result);
    return result;
  }
  // Of a command that is over.
  template <typename Action>
  CommandResult Do(Action action, Stream stream = kDefaultStream) {
    const Result result = Submit(std::move(action), stream);
    EXPECT_EQ(result.calls(), 1u);
    return result.Get();
  }
  template <typename Action>
  absl::Status StatusOf(Action action, Stream stream = kDefaultStream) {
    return Do(std::move(action), stream).status;
  }
  Address Alloc() { return std::get<Address>(Do(command::Alloc{.size_bytes = kBytes}).value); }
  command::Run Fill(Address address, std::uint8_t value) {
    return {ops::Memset{.target = address, .value = value, .bytes = kBytes}};
  }

  const absl::Status kFault = DeviceError("The device is on fire.");
  std::unique_ptr<HostDevice> made_ = std::make_unique<HostDevice>();
  HostDevice& host_ = *made_;
  FaultyDevice device_{std::move(made_)};
  std::optional<Scheduler> scheduler_;
  const std::shared_ptr<MemoryAccount> memory_ = std::make_shared<MemoryAccount>();
  std::shared_ptr<Session> session_;
};

// Of a device that takes several pieces of work of a stream.
class DeepSessionTest : public SessionTest {
 protected:
  DeepSessionTest() : SessionTest(/*queue_depth=*/8) {}
};

TEST_F(SessionTest, KnowsWhatItsDeviceCanDo) {
  EXPECT_EQ(session_->info().id, 7u);
  EXPECT_TRUE(session_->info().supported_ops.all());
}

TEST_F(SessionTest, AllocPassesOnThatMemoryIsToBeMappable) {
  const command::Alloc alloc{.size_bytes = kBytes, .mappable = true};
  EXPECT_THAT(StatusOf(alloc), HasReason(reason::kUnsupported));
  EXPECT_THAT(StatusOf(command::Alloc{.size_bytes = kBytes}), IsOk());
}

TEST_F(SessionTest, AllocGivesOpenableMemoryWhereTheLimitsAllowIt) {
  const command::Alloc alloc{.size_bytes = kBytes, .openable = true};
  EXPECT_THAT(StatusOf(alloc), HasReason(reason::kUnsupported));
  host_.openable = true;
  EXPECT_THAT(StatusOf(alloc), HasReason(reason::kPermissionDenied));
  session_ = Make({.direct_opening = true});
  const CommandResult allocated = Do(alloc);
  ASSERT_THAT(allocated.status, IsOk());
  const absl::StatusOr<ShareableHandle> handle =
      session_->ExportHandle(std::get<Address>(allocated.value));
  ASSERT_THAT(handle.status(), IsOk());
  EXPECT_EQ(handle->size_bytes, kBytes);
}

TEST_F(SessionTest, AllocWritesRunsReadsAndFrees) {
  const Address a = Alloc();
  const std::string bytes = "0123456789abcdef";
  EXPECT_THAT(StatusOf(command::Write{.target = a,
                                      .data = absl::MakeConstSpan(
                                          reinterpret_cast<const std::byte*>(bytes.data()), 16)}),
              IsOk());
  EXPECT_THAT(StatusOf(command::Run{ops::Memset{.target = a + 1, .value = 'x', .bytes = 2}}),
              IsOk());
  const CommandResult read = Do(command::Read{.source = a, .size_bytes = kBytes});
  EXPECT_THAT(read.status, IsOk());
  EXPECT_EQ(std::get<std::string>(read.value), "0xx3456789abcdef");
  EXPECT_EQ(session_->memory_bytes(), kBytes);
  EXPECT_THAT(StatusOf(command::Free{.address = a}), IsOk());
  EXPECT_EQ(session_->memory_bytes(), 0u);
  EXPECT_EQ(session_->ops(), 1u);
  EXPECT_EQ(session_->device_time(), std::chrono::microseconds(3));
}

TEST_F(SessionTest, StreamsAndEventsWork) {
  const auto stream = std::get<Stream>(Do(command::CreateStream{.priority = 1}).value);
  const auto event = std::get<Event>(Do(command::CreateEvent{}).value);
  const Address a = Alloc();
  device_.CloseGate();
  const Result fill = Submit(Fill(a, 1), stream);
  const Result record = Submit(command::RecordEvent{event}, stream);
  const Result wait = Submit(command::WaitEvent{event});
  const Result synchronized[] = {Submit(command::SynchronizeEvent{event}),
                                 Submit(command::SynchronizeStream{}, stream),
                                 Submit(command::Synchronize{})};
  EXPECT_EQ(std::get<bool>(Do(command::QueryEvent{event}).value), false);
  EXPECT_THAT(StatusOf(command::ElapsedTime{event, event}), HasReason(reason::kEventPending));
  EXPECT_TRUE(fill.pending() && record.pending() && wait.pending());
  for (const Result& each : synchronized) EXPECT_TRUE(each.pending());
  EXPECT_EQ(session_->in_flight(), 6u);
  device_.OpenGate();
  for (const Result& each : synchronized) EXPECT_THAT(each.Get().status, IsOk());
  EXPECT_THAT(wait.Get().status, IsOk());
  EXPECT_EQ(session_->in_flight(), 0u);
  EXPECT_EQ(std::get<bool>(Do(command::QueryEvent{event}).value), true);
  EXPECT_EQ(std::get<std::chrono::nanoseconds>(Do(command::ElapsedTime{event, event}).value),
            std::chrono::nanoseconds(0));
  EXPECT_THAT(StatusOf(command::DestroyEvent{event}), IsOk());
  EXPECT_THAT(StatusOf(command::DestroyStream{}, stream), IsOk());
  EXPECT_THAT(StatusOf(command::SynchronizeStream{}, stream), HasReason(reason::kUnknownStream));
}

TEST_F(SessionTest, AProgramIsDefinedReplayedAndDestroyed) {
  const Address a = Alloc();
  const Address b = Alloc();
  const ops::Memset fill{.target = a, .value = 'x', .bytes = kBytes};
  const CommandResult defined = Do(command::DefineProgram{.items = {fill, fill}});
  ASSERT_THAT(defined.status, IsOk());
  const auto program = std::get<Program>(defined.value);
  device_.CloseGate();
  const Result replayed = Submit(command::Replay{.program = program});
  const Result rebound = Submit(
      command::Replay{.program = program, .rebindings = {{.recorded = a, .replacement = b}}});
  EXPECT_EQ(session_->in_flight(), 2u);
  // The scheduler has one op, and not the program.
  EXPECT_EQ(device_.held(), 1u);
  EXPECT_THAT(StatusOf(command::DestroyProgram{program}), IsOk());
  device_.OpenGate();
  EXPECT_THAT(replayed.Get().status, IsOk());
  EXPECT_THAT(rebound.Get().status, IsOk());
  EXPECT_EQ(session_->ops(), 4u);
  const CommandResult read = Do(command::Read{.source = b, .size_bytes = 2});
  EXPECT_EQ(std::get<std::string>(read.value), "xx");
}

TEST_F(SessionTest, AClientMayChooseItsNumbers) {
  const CommandResult alloc = Do(command::Alloc{.address = kChosen, .size_bytes = kBytes});
  EXPECT_EQ(std::get<Address>(alloc.value), kChosen);
  EXPECT_EQ(std::get<Stream>(Do(command::CreateStream{.stream = Stream{4}}).value), Stream{4});
  EXPECT_EQ(std::get<Event>(Do(command::CreateEvent{.event = Event{9}}).value), Event{9});
  EXPECT_EQ(std::get<Program>(Do(command::DefineProgram{.program = Program{3}}).value), Program{3});
}

TEST_F(SessionTest, ACommandThatFailsACheckEndsWithItsErrorOnce) {
  constexpr Stream kUnknown{1234};
  const absl::Status results[] = {
      StatusOf(Fill(1, 1)),
      StatusOf(command::Write{
          .target = 1,
          .data = absl::Span<const std::byte>(reinterpret_cast<const std::byte*>("x"), 1)}),
      StatusOf(command::Read{.source = 1, .size_bytes = 1}),
      StatusOf(command::Alloc{}),
      StatusOf(command::Free{.address = 1}),
      StatusOf(command::CreateStream{.stream = Stream{kServerAddressBase}}),
      StatusOf(command::DestroyStream{}, kUnknown),
      StatusOf(command::CreateEvent{.event = Event{kServerAddressBase}}),
      StatusOf(command::DestroyEvent{Event{5}}),
      StatusOf(command::RecordEvent{Event{5}}),
      StatusOf(command::WaitEvent{Event{5}}),
      StatusOf(command::QueryEvent{Event{5}}),
      StatusOf(command::SynchronizeEvent{Event{5}}),
      StatusOf(command::ElapsedTime{Event{5}, Event{5}}),
      StatusOf(command::SynchronizeStream{}, kUnknown),
      StatusOf(command::DefineProgram{.program = Program{kServerAddressBase}}),
      StatusOf(command::Replay{.program = Program{5}}),
      StatusOf(command::DestroyProgram{Program{5}}),
  };
  EXPECT_THAT(results, Each(IsInvalid("")));
  EXPECT_EQ(session_->in_flight(), 0u);
  EXPECT_EQ(device_.submits(), 0);
}

TEST_F(SessionTest, AReadHasALimit) {
  session_ = Make({.read_bytes = 8});
  const Address a = Alloc();
  EXPECT_THAT(StatusOf(command::Read{.source = a, .size_bytes = 8}), IsOk());
  const absl::Status over = StatusOf(command::Read{.source = a, .size_bytes = 9});
  EXPECT_THAT(over, IsInvalid("A read of 9 bytes is over the limit of 8 bytes"));
  EXPECT_THAT(over, HasReason(reason::kLimitExceeded));
  EXPECT_THAT(StatusOf(command::Read{.source = a, .size_bytes = ~std::uint64_t{0}}),
              HasReason(reason::kLimitExceeded));
}

TEST_F(SessionTest, PassesItsLimitsOn) {
  session_ = Make({.streams = 1,
                   .events = 0,
                   .allocations = 0,
                   .programs = 1,
                   .program_items = 1,
                   .program_bytes = 1000});
  EXPECT_THAT(StatusOf(command::CreateStream{}), HasReason(reason::kLimitExceeded));
  EXPECT_THAT(StatusOf(command::CreateEvent{}), HasReason(reason::kLimitExceeded));
  EXPECT_THAT(StatusOf(command::Alloc{.size_bytes = 1}), HasReason(reason::kLimitExceeded));
  EXPECT_THAT(StatusOf(command::DefineProgram{.items = {EventItem{}, EventItem{}}}),
              HasReason(reason::kLimitExceeded));
  EXPECT_THAT(StatusOf(command::DefineProgram{}), IsOk());
  EXPECT_THAT(StatusOf(command::DefineProgram{}), HasReason(reason::kLimitExceeded));
}

TEST_F(SessionTest, AFaultBelongsToTheStreamAndAReadTakesItUnlessItKeepsIt) {
  const Address a = Alloc();
  device_.FailSubmit(1, kFault);
  EXPECT_EQ(StatusOf(Fill(a, 1)), kFault);
  EXPECT_EQ(StatusOf(command::Read{.source = a, .size_bytes = 1, .keep_error = true}), kFault);
  const CommandResult read = Do(command::Read{.source = a, .size_bytes = 1});
  EXPECT_EQ(read.status, kFault);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(read.value));
  EXPECT_THAT(StatusOf(command::SynchronizeStream{}), IsOk());
}

TEST_F(SessionTest, AWriteKeepsItsOwnerUntilItIsDone) {
  const Address a = Alloc();
  auto owner = std::make_shared<std::string>("0123456789abcdef");
  const std::weak_ptr<std::string> watched = owner;
  device_.CloseGate();
  const Result write = Submit(command::Write{
      .target = a,
      .data = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(owner->data()), kBytes),
      .owner = std::move(owner)});
  EXPECT_FALSE(watched.expired());
  device_.OpenGate();
  EXPECT_THAT(write.Get().status, IsOk());
  EXPECT_TRUE(watched.expired());
}

TEST_F(SessionTest, RefusesCommandsAndFinishesThoseItTook) {
  const Address a = Alloc();
  device_.CloseGate();
  const Result taken = Submit(Fill(a, 1));
  session_->Refuse(WithReason(absl::UnavailableError("Enough."), reason::kDraining));
  session_->Refuse(kFault);
  const absl::Status refused[] = {StatusOf(Fill(a, 2)), StatusOf(command::Synchronize{}),
                                  StatusOf(command::Free{.address = a})};
  EXPECT_THAT(refused, Each(HasReason(reason::kDraining)));
  EXPECT_TRUE(absl::IsUnavailable(refused[0]));
  EXPECT_EQ(session_->in_flight(), 1u);
  device_.OpenGate();
  EXPECT_THAT(taken.Get().status, IsOk());
  EXPECT_EQ(session_->in_flight(), 0u);
}

TEST_F(SessionTest, TellsTheDeviceOfHostMemory) {
  std::byte memory[16];
  EXPECT_TRUE(session_->RegisterHost(memory, sizeof memory));
  EXPECT_EQ(device_.registered().count(memory), 1u);
  session_->UnregisterHost(memory);
  EXPECT_TRUE(device_.registered().empty());
}

TEST_F(SessionTest, LogsOnceThatTheDeviceRegistersNoHostMemory) {
  std::byte memory[16];
  device_.FailRegisterHost(kFault);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(session_->RegisterHost(memory, sizeof memory));
  EXPECT_FALSE(session_->RegisterHost(memory, sizeof memory));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("are staged session=7 error=\"The device is on fire.\""));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
}

TEST_F(SessionTest, EndAmidstWorkDropsWhatWaitsAndFreesTheRestAfterwards) {
  const Address a = Alloc();
  const auto stream = std::get<Stream>(Do(command::CreateStream{}).value);
  device_.CloseGate();
  const Result running = Submit(Fill(a, 1));
  const Result with_the_scheduler = Submit(Fill(a, 2), stream);
  const Result with_the_stream = Submit(Fill(a, 3));
  const Result synchronizing = Submit(command::Synchronize{});
  session_->End(absl::CancelledError("The client has left."));
  for (const Result& each : {with_the_scheduler, with_the_stream, synchronizing}) {
    EXPECT_EQ(each.calls(), 1u);
    EXPECT_TRUE(absl::IsCancelled(each.Get().status));
  }
  EXPECT_TRUE(running.pending());
  EXPECT_EQ(session_->in_flight(), 1u);
  EXPECT_EQ(memory_->used_bytes(), kBytes);
  device_.OpenGate();
  EXPECT_EQ(running.calls(), 1u);
  EXPECT_EQ(device_.submits(), 1);
  EXPECT_EQ(session_->in_flight(), 0u);
  EXPECT_EQ(memory_->used_bytes(), 0u);
  EXPECT_EQ(device_.live_bytes(), 0u);
}

TEST_F(DeepSessionTest, EndAmidstWorkOfAStreamLeavesWhatRunsItsMemory) {
  const Address a = Alloc();
  const Address b = Alloc();
  device_.CloseGate();
  const Result running = Submit(Fill(a, 1));
  const Result waiting = Submit(Fill(b, 2));
  const Result last = Submit(Fill(b, 3));
  ASSERT_EQ(device_.held(), 1u);
  session_->End(absl::CancelledError("The client has left."));
  EXPECT_TRUE(running.pending());
  EXPECT_EQ(device_.live_bytes(), kBytes);
  device_.OpenGate();
  EXPECT_THAT(running.Get().status, IsOk());
  for (const Result& each : {running, waiting, last}) EXPECT_EQ(each.calls(), 1u);
  for (const Result& each : {waiting, last}) EXPECT_TRUE(absl::IsCancelled(each.Get().status));
  EXPECT_EQ(device_.submits(), 1);
  EXPECT_EQ(session_->in_flight(), 0u);
  EXPECT_EQ(device_.live_bytes(), 0u);
}

TEST_F(DeepSessionTest, EndAmidstAReplayLeavesWhatRunsItsMemory) {
  const Address a = Alloc();
  const auto program = std::get<Program>(
      Do(command::DefineProgram{.items = {Fill(a, 1).op, Fill(a, 2).op, Fill(a, 3).op}}).value);
  device_.CloseGate();
  const Result running = Submit(Fill(a, 4));
  const Result replayed = Submit(command::Replay{.program = program});
  const Result last = Submit(Fill(a, 5));
  ASSERT_EQ(device_.held(), 1u);
  session_->End(absl::CancelledError("The client has left."));
  EXPECT_TRUE(running.pending());
  EXPECT_EQ(device_.live_bytes(), kBytes);
  device_.OpenGate();
  EXPECT_THAT(running.Get().status, IsOk());
  for (const Result& each : {replayed, last}) EXPECT_TRUE(absl::IsCancelled(each.Get().status));
  EXPECT_EQ(device_.live_bytes(), 0u);
}

TEST_F(SessionTest, CommandsAfterTheEndSayThatItHasEnded) {
  session_->End(absl::CancelledError("The client has left."));
  EXPECT_TRUE(session_->ended());
  const absl::Status results[] = {StatusOf(Fill(kChosen, 1)),
                                  StatusOf(command::Alloc{.size_bytes = 1}),
                                  StatusOf(command::Read{.source = kChosen, .size_bytes = 1}),
                                  StatusOf(command::CreateStream{}),
                                  StatusOf(command::Synchronize{}),
                                  session_->CheckRange(kChosen, 1, "It")};
  EXPECT_THAT(results, Each(HasReason(reason::kSessionEnded)));
  EXPECT_EQ(session_->in_flight(), 0u);
}

TEST_F(SessionTest, WorkKeepsASessionThatNobodyHolds) {
  const Address a = Alloc();
  device_.CloseGate();
  const Result running = Submit(Fill(a, 1));
  const std::weak_ptr<Session> watched = session_;
  session_->End(absl::CancelledError("The client has left."));
  session_ = Make({});
  EXPECT_FALSE(watched.expired());
  device_.OpenGate();
  EXPECT_THAT(running.Get().status, IsOk());
  EXPECT_TRUE(watched.expired());
}

TEST_F(SessionTest, EndCallsBackOnceWithTheFirstReason) {
  std::vector<std::string> log;
  session_->OnEnd([&](const absl::Status& why) { log.emplace_back(why.message()); });
  session_->End(absl::CancelledError("First."));
  session_->End(absl::CancelledError("Second."));
  EXPECT_THAT(log, ElementsAre("First."));
}

TEST_F(SessionTest, OnEndOfAnEndedSessionCallsBackAtOnce) {
  session_->End(absl::CancelledError("First."));
  const Outcome<absl::Status> why;
  EXPECT_EQ(session_->OnEnd(why), 0u);
  EXPECT_EQ(why.Get(), WithReason(absl::CancelledError("First."), reason::kSessionEnded));
  session_->RemoveOnEnd(0);
}

TEST_F(SessionTest, ARemovedCallbackIsNotCalled) {
  const Outcome<absl::Status> removed;
  session_->RemoveOnEnd(session_->OnEnd(removed));
  session_->End(absl::CancelledError("First."));
  EXPECT_TRUE(removed.pending());
}

TEST_F(SessionTest, ACallbackRemovedByAnotherDuringTheEndIsNotCalled) {
  std::uint64_t numbers[2];
  int called = 0;
  for (int i = 0; i < 2; ++i) {
    numbers[i] = session_->OnEnd([&, i](const absl::Status&) {
      ++called;
      session_->RemoveOnEnd(numbers[1 - i]);
    });
  }
  session_->End(absl::CancelledError("First."));
  EXPECT_EQ(called, 1);
}

TEST_F(SessionTest, TheEndsCallbacksFindTheWorkDropped) {
  const Address a = Alloc();
  device_.CloseGate();
  Submit(Fill(a, 1));
  const Result dropped = Submit(Fill(a, 2));
  bool was_dropped = false;
  session_->OnEnd([&](const absl::Status&) { was_dropped = !dropped.pending(); });
  session_->End(absl::CancelledError("First."));
  EXPECT_TRUE(was_dropped);
}

TEST_F(SessionTest, ThereIsOneChannelAtATime) {
  EXPECT_TRUE(session_->TakeChannel());
  EXPECT_FALSE(session_->TakeChannel());
  session_->ReturnChannel();
  EXPECT_FALSE(session_->channel_taken());
  EXPECT_TRUE(session_->TakeChannel());
}

TEST_F(SessionTest, CallsHoldBytesUpToTheLimitAndOneAloneAnyNumber) {
  SessionLimits limits;
  limits.bytes_in_flight = 100;
  const std::shared_ptr<Session> session = Make(limits);
  EXPECT_TRUE(session->TakeBytes(60));
  EXPECT_FALSE(session->TakeBytes(41));
  EXPECT_FALSE(session->TakeBytes(~std::uint64_t{0}));
  EXPECT_TRUE(session->TakeBytes(40));
  EXPECT_FALSE(session->TakeBytes(1));
  session->ReturnBytes(60);
  session->ReturnBytes(40);
  EXPECT_TRUE(session->TakeBytes(1000));
  EXPECT_FALSE(session->TakeBytes(1));
}

TEST_F(SessionTest, HostMemoryIsCountedUpToTheLimit) {
  const std::shared_ptr<Session> session = Make({.host_bytes = 100});
  EXPECT_THAT(session->TakeHostBytes(60), IsOk());
  for (const std::uint64_t bytes : {std::uint64_t{41}, ~std::uint64_t{0}}) {
    EXPECT_THAT(session->TakeHostBytes(bytes), HasReason(reason::kLimitExceeded));
  }
  EXPECT_EQ(session->host_bytes(), 60u);
  EXPECT_THAT(session->TakeHostBytes(40), IsOk());
  session->ReturnHostBytes(60);
  EXPECT_EQ(session->host_bytes(), 40u);
  EXPECT_THAT(session->TakeHostBytes(61), IsStatus(absl::StatusCode::kResourceExhausted,
                                                   "40 bytes of host memory with the daemon "
                                                   "already; 61 more are beyond its limit of 100"));
}

TEST_F(SessionTest, SaysByWhatItsCommandsComeNow) {
  const auto session =
      *Session::Create({.id = 8, .transport = "grpc+unix"}, device_, *scheduler_, {}, memory_);
  EXPECT_EQ(session->transport(), "grpc+unix");
  session->MoveTo("shm", 12);
  EXPECT_EQ(session->transport(), "shm");
  EXPECT_EQ(session->connection_id(), 12u);
  EXPECT_EQ(session->info().transport, "grpc+unix");
}

// Sessions that end amidst the work of several threads: each command is answered once, and nothing
// of them stays.
TEST(SessionThreadsTest, EndAmidstCommandsAnswersEachOnceAndLeavesNothing) {
  for (int round = 0; round < 30; ++round) {
    HostDevice device(2);
    Scheduler scheduler(device);
    const auto memory = std::make_shared<MemoryAccount>();
    std::atomic<int> submitted = 0;
    std::atomic<int> answered = 0;
    const auto session = *Session::Create({}, device, scheduler, {}, memory);
    const auto client = [&](int thread) {
      const auto count = [&answered](const CommandResult&) { ++answered; };
      for (int i = 0; i < 300; ++i) {
        const Address address = kChosen + static_cast<Address>(i) * 8192;
        submitted += 4;
        session->Submit({.action = command::Alloc{.address = address, .size_bytes = kBytes}},
                        count);
        session->Submit({.action = command::Run{ops::Memset{.target = address, .bytes = kBytes}}},
                        count);
        session->Submit({.action = command::Free{.address = address}}, count);
        session->Submit({.action = command::Synchronize{}}, count);
        if (thread == 0 && i == 100) session->End(absl::CancelledError("Enough."));
      }
    };
    std::thread first(client, 0);
    std::thread second(client, 1);
    first.join();
    second.join();
    while (session->in_flight() > 0) std::this_thread::yield();
    ASSERT_EQ(answered, submitted);
    ASSERT_EQ(memory->used_bytes(), 0u);
  }
}

}  // namespace
}  // namespace acceld
