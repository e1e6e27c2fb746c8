#include "tests/unit/backends/context/context_test_base.h"

namespace acceld {
namespace {

class StreamTest : public ContextTest {};

TEST_F(StreamTest, RunsTheWorkOfAStreamInTheOrderOfSubmission) {
  const Address a = Alloc();
  Buffer buffer{};
  device_->CloseGate();
  const Done first = Fill(a, 1);
  const Done second = Fill(a, 2);
  const Done read = Read(buffer, a);
  const Done third = Fill(a, 3);
  EXPECT_EQ(device_->held(), 1u);
  device_->Pass(kDefaultQueue);
  EXPECT_FALSE(first.pending());
  EXPECT_TRUE(second.pending());
  device_->Pass(kDefaultQueue, 2);
  EXPECT_THAT(read.Get(), IsOk());
  EXPECT_EQ(buffer[0], std::byte{2});
  EXPECT_TRUE(third.pending());
  device_->OpenGate();
  EXPECT_THAT(third.Get(), IsOk());
  EXPECT_EQ(ByteAt(a), 3);
}

TEST_F(StreamTest, StreamsDoNotWaitForOneAnother) {
  const Address a = Alloc();
  const Stream other = NewStream();
  device_->CloseGate(kDefaultQueue);
  const Done held = Fill(a, 1);
  EXPECT_THAT(Fill(a, 2, other).Get(), IsOk());
  EXPECT_TRUE(held.pending());
}

TEST_F(StreamTest, TheDefaultStreamDoesNotWaitForOthers) {
  const Address a = Alloc();
  const Stream other = NewStream();
  device_->CloseGate(DeviceQueue{2});
  const Done held = Fill(a, 1, other);
  EXPECT_FALSE(Fill(a, 2).pending());
  EXPECT_TRUE(held.pending());
}

TEST_F(StreamTest, CopiesMoveTheBytes) {
  const Address a = Alloc();
  const Address b = Alloc();
  Buffer source;
  source.fill(std::byte{7});
  Buffer target{};
  Write(a, source);
  EXPECT_THAT(
      context_->Run(ops::CopyDtoD{.target = b, .source = a, .bytes = kBytes}, kDefaultStream),
      IsOk());
  EXPECT_THAT(Read(target, b).Get(), IsOk());
  EXPECT_EQ(target, source);
}

TEST_F(StreamTest, SynchronizeStreamWaitsForItsStreamOnly) {
  const Address a = Alloc();
  const Stream other = NewStream();
  device_->CloseGate();
  Fill(a, 1);
  Fill(a, 2, other);
  const Done done = SynchronizeStream(kDefaultStream);
  EXPECT_TRUE(done.pending());
  device_->OpenGate(kDefaultQueue);
  EXPECT_THAT(done.Get(), IsOk());
  EXPECT_EQ(device_->held(), 1u);
}

TEST_F(StreamTest, SynchronizeWaitsForAllStreamsAndNotForWhatComesLater) {
  const Address a = Alloc();
  const Stream other = NewStream();
  device_->CloseGate();
  Fill(a, 1);
  Fill(a, 2, other);
  const Done done = Synchronize();
  const Done later = Fill(a, 3, other);
  device_->OpenGate(kDefaultQueue);
  EXPECT_TRUE(done.pending());
  device_->Pass(DeviceQueue{2});
  EXPECT_FALSE(done.pending());
  EXPECT_TRUE(later.pending());
}

TEST_F(StreamTest, SynchronizeOfAnIdleContextIsDoneAtOnce) {
  NewStream();
  EXPECT_FALSE(Synchronize().pending());
}

TEST_F(StreamTest, ADestroyedStreamFinishesItsWork) {
  const Address a = Alloc();
  const Stream stream = NewStream();
  int destroyed_queues = 0;
  host_->on_destroy_queue = [&] { ++destroyed_queues; };
  device_->CloseGate();
  const Done first = Fill(a, 1, stream);
  const Done second = Fill(a, 2, stream);
  EXPECT_THAT(context_->DestroyStream(stream), IsOk());
  const Done all = Synchronize();
  EXPECT_TRUE(all.pending());
  EXPECT_EQ(destroyed_queues, 0);
  device_->OpenGate();
  EXPECT_THAT(second.Get(), IsOk());
  EXPECT_THAT(all.Get(), IsOk());
  EXPECT_EQ(destroyed_queues, 1);
  EXPECT_EQ(ByteAt(a), 2);
  host_->on_destroy_queue = nullptr;
}

TEST_F(StreamTest, ADestroyedStreamIsUnknownAtOnceInEveryCall) {
  const Address a = Alloc();
  const Event event = NewEvent();
  const Stream stream = NewStream();
  Buffer buffer{};
  device_->CloseGate();
  Fill(a, 1, stream);
  EXPECT_THAT(context_->DestroyStream(stream), IsOk());
  const std::int64_t submits = device_->submits();
  const auto unknown = HasReason(reason::kUnknownStream);
  EXPECT_THAT(context_->Run(ops::Memset{.target = a, .bytes = 1}, stream), unknown);
  EXPECT_THAT(context_->Run(ops::Memset{.target = a, .bytes = 0}, stream), unknown);
  EXPECT_THAT(context_->Write(a, buffer, stream, nullptr, nullptr), unknown);
  EXPECT_THAT(context_->Read(absl::MakeSpan(buffer), a, stream, true, nullptr, nullptr), unknown);
  EXPECT_THAT(context_->RecordEvent(event, stream), unknown);
  EXPECT_THAT(context_->WaitEvent(stream, event), unknown);
  EXPECT_THAT(context_->SynchronizeStream(stream, nullptr), unknown);
  EXPECT_THAT(context_->DestroyStream(stream), unknown);
  EXPECT_EQ(device_->submits(), submits);
}

TEST_F(StreamTest, TheDefaultStreamCannotBeDestroyed) {
  EXPECT_THAT(context_->DestroyStream(kDefaultStream), IsInvalid("The default stream"));
}

TEST_F(StreamTest, NumbersAreNeverUsedAgain) {
  const Stream first = NewStream();
  EXPECT_THAT(context_->DestroyStream(first), IsOk());
  EXPECT_NE(NewStream(), first);
}

TEST_F(StreamTest, ChosenNumbersOnlyGrow) {
  EXPECT_EQ(*context_->CreateStream({}, Stream{5}), Stream{5});
  EXPECT_THAT(context_->CreateStream({}, Stream{5}).status(), IsInvalid("only grow"));
  EXPECT_THAT(context_->CreateStream({}, Stream{4}).status(), IsInvalid("only grow"));
  EXPECT_THAT(context_->CreateStream({}, Stream{kServerAddressBase}).status(),
              IsInvalid("[6, 2^62)"));
  EXPECT_THAT(context_->DestroyStream(Stream{5}), IsOk());
  EXPECT_THAT(context_->CreateStream({}, Stream{5}).status(), IsInvalid("only grow"));
  EXPECT_GE(static_cast<std::uint64_t>(NewStream()), kServerAddressBase);
}

TEST_F(StreamTest, StreamsHaveALimitThatCountsTheDefaultStream) {
  const auto context = MakeContext({.streams = 2});
  const Stream stream = *context->CreateStream({});
  const absl::Status full = context->CreateStream({}).status();
  EXPECT_THAT(full, IsStatus(absl::StatusCode::kResourceExhausted, "There are 2 streams already"));
  EXPECT_THAT(full, HasReason(reason::kLimitExceeded));
  EXPECT_THAT(context->DestroyStream(stream), IsOk());
  EXPECT_THAT(context->CreateStream({}).status(), IsOk());
}

TEST_F(StreamTest, NothingToDoIsDoneAtOnceWithoutTheDevice) {
  device_->CloseGate();
  Fill(Alloc(), 1);
  const std::int64_t submits = device_->submits();
  Done run;
  EXPECT_THAT(context_->Run(ops::Memset{.target = 1, .bytes = 0}, kDefaultStream, run), IsOk());
  Done read;
  EXPECT_THAT(context_->Read({}, 1, kDefaultStream, true, nullptr, read), IsOk());
  EXPECT_THAT(run.Get(), IsOk());
  EXPECT_THAT(read.Get(), IsOk());
  EXPECT_THAT(Write(1, {}).Get(), IsOk());
  EXPECT_EQ(device_->submits(), submits);
}

TEST_F(StreamTest, AFailedCheckSubmitsNothingAndKeepsTheCallback) {
  const Address a = Alloc();
  Done done;
  DeviceContext::Done callback = done;
  EXPECT_THAT(context_->Run(ops::Memset{.target = a, .bytes = kBytes + 1}, kDefaultStream,
                            std::move(callback)),
              IsInvalid("beyond its allocation of 16 bytes"));
  EXPECT_TRUE(callback);
  EXPECT_TRUE(done.pending());
  EXPECT_EQ(device_->submits(), 0);
  EXPECT_THAT(SynchronizeStream(kDefaultStream).Get(), IsOk());
}

constexpr int kMany = 100'000;

TEST_F(StreamTest, ManyPiecesOfWorkDoneInlineDoNotExhaustTheStack) {
  const Address a = Alloc();
  device_->CloseGate();
  for (int i = 0; i < kMany; ++i) {
    ASSERT_THAT(context_->Run(ops::Memset{.target = a, .bytes = 1}, kDefaultStream), IsOk());
  }
  const Done done = Synchronize();
  device_->OpenGate();
  EXPECT_THAT(done.Get(), IsOk());
  EXPECT_EQ(device_->submits(), kMany);
}

TEST_F(StreamTest, AChainOfCallbacksDoesNotExhaustTheStack) {
  const Address a = Alloc();
  int left = kMany;
  std::function<void(absl::Status)> next = [&](const absl::Status&) {
    if (--left == 0) return;
    ASSERT_THAT(context_->Run(ops::Memset{.target = a, .bytes = 1}, kDefaultStream,
                              [&](absl::Status status) { next(std::move(status)); }),
                IsOk());
  };
  next({});
  EXPECT_EQ(left, 0);
}

TEST_F(StreamTest, WhoWaitsForRoomTakesOverFromAThreadThatWorksForOthersOnly) {
  const Address a = Alloc();
  std::atomic<bool> stop = false;
  std::atomic<bool> started = false;
  std::function<void(absl::Status)> next = [&](const absl::Status&) {
    started = true;
    if (stop) return;
    ASSERT_THAT(context_->Run(ops::Memset{.target = a, .bytes = 1}, kDefaultStream,
                              [&](absl::Status status) { next(std::move(status)); }),
                IsOk());
  };
  std::thread waiter([&] {
    while (!started) std::this_thread::yield();
    while (!stop) context_->WaitForRoom(1);
  });
  next({});  // Would not return if nobody took over.
  stop = true;
  waiter.join();
}

TEST_F(StreamTest, WaitForRoomWaitsUntilFewerAreUnfinished) {
  const Address a = Alloc();
  device_->CloseGate();
  for (int i = 0; i < 4; ++i) Fill(a, 1);
  context_->WaitForRoom(5);
  std::thread waiter([&] {
    context_->WaitForRoom(2);
    EXPECT_GE(device_->submits(), 3);  // Each is submitted when the one before is done.
  });
  device_->OpenGate();
  waiter.join();
}

}  // namespace
}  // namespace acceld
