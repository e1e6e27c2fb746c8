#include <chrono>
#include <functional>
#include <set>
#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class EventTest : public ConformanceTest {
 protected:
  bool IsDone(Event event) {
    const absl::StatusOr<bool> done = backend().QueryEvent(event);
    EXPECT_TRUE(IsOk(done));
    return done.ok() && *done;
  }
  std::uint8_t FirstByte(Address address, Stream stream = kDefaultStream) {
    return Download<std::uint8_t>(address, 1, stream)[0];
  }

  // Whether `look` held once for an event just recorded behind work that takes its time. On a slow
  // day the work may be done before, so there are some tries.
  bool HoldsWhilePending(Event event, const std::function<bool()>& look) {
    for (int i = 0; i < 20; ++i) {
      KeepBusy(kDefaultStream, 2);
      EXPECT_TRUE(IsOk(backend().RecordEvent(event)));
      const bool held = look();
      EXPECT_TRUE(IsOk(backend().Synchronize()));
      if (held) return true;
    }
    return false;
  }
};

TEST_F(EventTest, IsDoneWhereItWasNeverRecorded) {
  const Event event = NewEvent();
  EXPECT_TRUE(IsDone(event));
  EXPECT_TRUE(IsOk(backend().SynchronizeEvent(event)));
  const Stream stream = NewStream();
  ASSERT_TRUE(IsOk(backend().WaitEvent(stream, event)));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream)));
}

TEST_F(EventTest, IsPendingUntilTheWorkBeforeItIsDone) {
  const Event event = NewEvent();
  EXPECT_TRUE(HoldsWhilePending(event, [&] { return !IsDone(event); }));
  EXPECT_TRUE(IsDone(event));
}

TEST_F(EventTest, IsPendingAgainOnceItIsRecordedAgain) {
  const Event event = NewEvent();
  ASSERT_TRUE(IsOk(backend().RecordEvent(event)));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(event)));
  EXPECT_TRUE(IsDone(event));
  EXPECT_TRUE(HoldsWhilePending(event, [&] { return !IsDone(event); }));
}

TEST_F(EventTest, SynchronizeEventWaitsForTheWorkBeforeItsRecord) {
  const Stream stream = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(1);
  for (std::uint8_t i = 1; i < 5; ++i) {
    KeepBusy(stream);
    ASSERT_TRUE(IsOk(backend().Memset(x, i, 1, stream)));
    ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
    ASSERT_TRUE(IsOk(backend().SynchronizeEvent(event)));
    EXPECT_TRUE(IsDone(event));
    EXPECT_EQ(FirstByte(x, NewStream()), i);
  }
}

// What lies behind an event on its stream does not hold it up, even where that waits for the host.
TEST_F(EventTest, DoesNotWaitForTheWorkBehindItsRecord) {
  const Event early = NewEvent();
  const Event late = NewEvent();
  const Stream stream = NewStream();
  bool seen_apart = false;
  for (int i = 0; i < 20 && !seen_apart; ++i) {
    ASSERT_TRUE(IsOk(backend().RecordEvent(early, stream)));
    KeepBusy(stream, 2);
    ASSERT_TRUE(IsOk(backend().RecordEvent(late, stream)));
    ASSERT_TRUE(IsOk(backend().SynchronizeEvent(early)));
    seen_apart = !IsDone(late);
    ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  }
  EXPECT_TRUE(seen_apart);
}

TEST_F(EventTest, OrdersOneStreamBehindAnother) {
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(1);
  const Address y = Alloc(1);
  for (std::uint8_t i = 1; i < 6; ++i) {
    KeepBusy(first);
    ASSERT_TRUE(IsOk(backend().Memset(x, i, 1, first)));
    ASSERT_TRUE(IsOk(backend().RecordEvent(event, first)));
    ASSERT_TRUE(IsOk(backend().WaitEvent(second, event)));
    ASSERT_TRUE(IsOk(backend().CopyDtoD(y, x, 1, second)));
    EXPECT_EQ(FirstByte(y, second), i);
  }
}

TEST_F(EventTest, OrdersTheDefaultStreamToo) {
  const Stream stream = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(1);
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Memset(x, 9, 1, stream)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(kDefaultStream, event)));
  EXPECT_EQ(FirstByte(x), 9);
}

// Each of eight streams multiplies and adds in its turn, again and again.
TEST_F(EventTest, PassesWorkAroundARingOfStreams) {
  const std::size_t count = 8;
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (std::size_t i = 0; i < count; ++i) {
    streams.push_back(NewStream());
    events.push_back(NewEvent());
  }
  const Address x = Alloc(4);
  const Address half = Upload(std::vector<float>{0.5f});
  std::vector<Address> terms;
  for (std::size_t i = 0; i < count; ++i) {
    terms.push_back(Upload(std::vector<float>{static_cast<float>(i)}));
  }
  float expected = 0;
  for (std::size_t turn = 0; turn < 200; ++turn) {
    const std::size_t i = turn % count;
    ASSERT_TRUE(IsOk(backend().WaitEvent(streams[i], events[(i + count - 1) % count])));
    ASSERT_TRUE(IsOk(backend().Binary(
        {.op = BinaryOp::kMul, .n = 1, .a = x, .b = half, .output = x}, streams[i])));
    ASSERT_TRUE(IsOk(backend().Binary(
        {.op = BinaryOp::kAdd, .n = 1, .a = x, .b = terms[i], .output = x}, streams[i])));
    ASSERT_TRUE(IsOk(backend().RecordEvent(events[i], streams[i])));
    expected = expected * 0.5f + static_cast<float>(i);
  }
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_EQ(Floats(x, 1)[0], expected);
}

TEST_F(EventTest, ReplacesItsFormerRecord) {
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(1);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, first)));
  KeepBusy(second);
  ASSERT_TRUE(IsOk(backend().Memset(x, 4, 1, second)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, second)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(first, event)));
  EXPECT_EQ(FirstByte(x, first), 4);
}

// A wait for an event's later record would never end here: the later record is itself behind the
// stream that waits.
TEST_F(EventTest, WaitsForTheLatestRecordBeforeTheWaitOnly) {
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event event = NewEvent();
  const Event back = NewEvent();
  const Address x = Alloc(1);
  KeepBusy(first);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, first)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(second, event)));
  ASSERT_TRUE(IsOk(backend().Memset(x, 3, 1, second)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(back, second)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(first, back)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, first)));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_TRUE(IsDone(event));
  EXPECT_EQ(FirstByte(x), 3);
}

TEST_F(EventTest, DoesNotDeadlockOnCrossedWaits) {
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event a = NewEvent();
  const Event b = NewEvent();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(IsOk(backend().WaitEvent(first, b)));
    ASSERT_TRUE(IsOk(backend().WaitEvent(second, a)));
    if (i % 5 == 0) KeepBusy(i % 2 == 0 ? first : second);
    ASSERT_TRUE(IsOk(backend().RecordEvent(a, first)));
    ASSERT_TRUE(IsOk(backend().RecordEvent(b, second)));
  }
  EXPECT_TRUE(IsOk(backend().Synchronize()));
}

TEST_F(EventTest, LetsAStreamWaitForItself) {
  const Stream stream = NewStream();
  const Event event = NewEvent();
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(stream, event)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(stream, event)));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream)));
}

TEST_F(EventTest, HoldsTheCopiesOfAWaitingStream) {
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(1000);
  KeepBusy(first);
  ASSERT_TRUE(IsOk(backend().Memset(x, 1, 1000, first)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, first)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(second, event)));
  const std::vector<std::uint8_t> values(1000, 2);
  ASSERT_TRUE(IsOk(backend().CopyHtoD(x, AsBytes(values), second)));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_EQ(Download<std::uint8_t>(x, 1000), values);
}

TEST_F(EventTest, KeepsItsOrderThoughItIsDestroyed) {
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(1);
  KeepBusy(first);
  ASSERT_TRUE(IsOk(backend().Memset(x, 8, 1, first)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, first)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(second, event)));
  ASSERT_TRUE(IsOk(backend().DestroyEvent(event)));
  EXPECT_EQ(FirstByte(x, second), 8);
}

TEST_F(EventTest, KeepsItsOrderThoughItsStreamIsDestroyed) {
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(1);
  KeepBusy(first);
  ASSERT_TRUE(IsOk(backend().Memset(x, 8, 1, first)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, first)));
  ASSERT_TRUE(IsOk(backend().DestroyStream(first)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(second, event)));
  EXPECT_EQ(FirstByte(x, second), 8);
  EXPECT_TRUE(IsDone(event));
}

TEST_F(EventTest, GivesEachEventANumberOfItsOwnForever) {
  std::set<Event> seen;
  for (int i = 0; i < 500; ++i) {
    const Event event = NewEvent();
    EXPECT_TRUE(seen.insert(event).second);
    if (i % 2 == 1) continue;
    EXPECT_TRUE(IsOk(backend().DestroyEvent(event)));
  }
}

TEST_F(EventTest, ReportsEveryUseOfAnUnknownEvent) {
  const Event destroyed = NewEvent();
  const Event valid = NewEvent();
  ASSERT_TRUE(IsOk(backend().RecordEvent(destroyed)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(valid)));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  ASSERT_TRUE(IsOk(backend().DestroyEvent(destroyed)));
  for (const Event event : {destroyed, Event{987654}, Event{~std::uint64_t{0}}}) {
    for (const absl::Status& status :
         {backend().DestroyEvent(event), backend().RecordEvent(event),
          backend().WaitEvent(kDefaultStream, event), backend().QueryEvent(event).status(),
          backend().SynchronizeEvent(event), backend().ElapsedTime(event, valid).status(),
          backend().ElapsedTime(valid, event).status()}) {
      EXPECT_TRUE(IsInvalidArgument(status));
      EXPECT_TRUE(HasReason(status, reason::kUnknownEvent));
    }
  }
}

// ---- ElapsedTime ----

TEST_F(EventTest, MeasuresTheTimeBetweenTwoRecords) {
  const Event start = NewEvent();
  const Event stop = NewEvent();
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(IsOk(backend().RecordEvent(start)));
  KeepBusy(kDefaultStream);
  ASSERT_TRUE(IsOk(backend().RecordEvent(stop)));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(stop)));
  const auto longest = std::chrono::steady_clock::now() - before;
  const auto elapsed = backend().ElapsedTime(start, stop);
  ASSERT_TRUE(IsOk(elapsed));
  // A product of 768 x 768 matrices takes any device some microseconds.
  EXPECT_GT(*elapsed, std::chrono::microseconds(1));
  EXPECT_LT(*elapsed, longest + std::chrono::milliseconds(1));
}

TEST_F(EventTest, MeasuresNothingBetweenAnEventAndItself) {
  const Event event = NewEvent();
  ASSERT_TRUE(IsOk(backend().RecordEvent(event)));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(event)));
  const auto elapsed = backend().ElapsedTime(event, event);
  ASSERT_TRUE(IsOk(elapsed));
  EXPECT_EQ(elapsed->count(), 0);
}

TEST_F(EventTest, MeasuresFromEventsOfDifferentStreams) {
  const Event start = NewEvent();
  const Event stop = NewEvent();
  ASSERT_TRUE(IsOk(backend().RecordEvent(start, NewStream())));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(start)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(stop, NewStream())));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(stop)));
  const auto elapsed = backend().ElapsedTime(start, stop);
  ASSERT_TRUE(IsOk(elapsed));
  EXPECT_GE(elapsed->count(), 0);
}

TEST_F(EventTest, RefusesToMeasureFromOrToAnEventNeverRecorded) {
  const Event recorded = NewEvent();
  const Event never = NewEvent();
  ASSERT_TRUE(IsOk(backend().RecordEvent(recorded)));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(recorded)));
  EXPECT_TRUE(IsInvalidArgument(backend().ElapsedTime(recorded, never), {"record"}));
  EXPECT_TRUE(IsInvalidArgument(backend().ElapsedTime(never, recorded), {"record"}));
  EXPECT_TRUE(IsInvalidArgument(backend().ElapsedTime(never, never)));
}

TEST_F(EventTest, RefusesToMeasureWhileAnEventIsPending) {
  const Event done = NewEvent();
  const Event pending = NewEvent();
  ASSERT_TRUE(IsOk(backend().RecordEvent(done)));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(done)));
  for (const bool to_pending : {true, false}) {
    EXPECT_TRUE(HoldsWhilePending(pending, [&] {
      const auto elapsed =
          to_pending ? backend().ElapsedTime(done, pending) : backend().ElapsedTime(pending, done);
      if (elapsed.ok()) return false;
      EXPECT_TRUE(HasCode(elapsed, absl::StatusCode::kFailedPrecondition));
      EXPECT_TRUE(HasReason(elapsed, reason::kEventPending));
      return true;
    }));
  }
}

}  // namespace
}  // namespace acceld::conformance
