#include <set>
#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class StreamTest : public ConformanceTest {
 protected:
  // x = x op b for one element.
  absl::Status Apply(BinaryOp op, Address x, Address b, Stream stream) {
    return backend().Binary({.op = op, .n = 1, .a = x, .b = b, .output = x}, stream);
  }
};

TEST_F(StreamTest, RunsWorkInOrder) {
  const Stream stream = NewStream();
  const Address x = Upload(std::vector<float>{1});
  const Address two = Upload(std::vector<float>{2});
  const Address three = Upload(std::vector<float>{3});
  KeepBusy(stream);
  // Any other order gives another number.
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(IsOk(Apply(BinaryOp::kMul, x, two, stream)));
    ASSERT_TRUE(IsOk(Apply(BinaryOp::kAdd, x, three, stream)));
  }
  EXPECT_EQ(Floats(x, 1, stream)[0], 32 + 3 * 31);
}

TEST_F(StreamTest, RunsDifferentKindsOfWorkInOrder) {
  const Stream stream = NewStream();
  const Address a = Alloc(400);
  const Address b = Alloc(400);
  KeepBusy(stream);
  const std::vector<float> values(100, 5);
  ASSERT_TRUE(IsOk(backend().CopyHtoD(a, AsBytes(values), stream)));
  ASSERT_TRUE(
      IsOk(backend().Unary({.op = UnaryOp::kNeg, .n = 100, .input = a, .output = b}, stream)));
  ASSERT_TRUE(IsOk(backend().Memset(a, 0, 400, stream)));
  ASSERT_TRUE(IsOk(backend().CopyDtoD(a, b, 200, stream)));
  ASSERT_TRUE(IsOk(backend().Memset(b, 0xff, 400, stream)));
  std::vector<float> expected(50, -5);
  expected.resize(100, 0);
  EXPECT_EQ(Floats(a, 100, stream), expected);
}

TEST_F(StreamTest, MixesSmallAndLargeWorkInOrder) {
  const Stream stream = NewStream();
  const std::int64_t large = 1 << 18;
  const Address x = Alloc(large * 4);
  const Address one = Upload(std::vector<float>{1});
  const Address ones = Upload(std::vector<float>(large, 1));
  // Copies to the device may still be under way on their stream, which this one does not wait for.
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(IsOk(backend().Binary(
        {.op = BinaryOp::kAdd, .n = large, .a = x, .b = ones, .output = x}, stream)));
    ASSERT_TRUE(IsOk(Apply(BinaryOp::kAdd, x, one, stream)));
  }
  const std::vector<float> found = Floats(x, 2, stream);
  EXPECT_EQ(found[0], 40);
  EXPECT_EQ(found[1], 20);
}

TEST_F(StreamTest, TakesManyOpsWithoutWaiting) {
  const Stream stream = NewStream();
  const Address x = Alloc(4);
  const Address one = Upload(std::vector<float>{1});
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE(IsOk(Apply(BinaryOp::kAdd, x, one, stream)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  EXPECT_EQ(Floats(x, 1)[0], 10000);
}

// More than any queue holds, all of it behind work that takes its time.
TEST_F(StreamTest, TakesMoreOpsThanAQueueHoldsBehindPendingWork) {
  const Stream busy = NewStream();
  const Event event = NewEvent();
  KeepBusy(busy, 3);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, busy)));
  std::vector<Address> counters;
  const Address one = Upload(std::vector<float>{1});
  for (int i = 0; i < 3; ++i) {
    const Stream stream = NewStream();
    counters.push_back(Alloc(4));
    ASSERT_TRUE(IsOk(backend().WaitEvent(stream, event)));
    for (int j = 0; j < 6000; ++j) {
      ASSERT_TRUE(IsOk(Apply(BinaryOp::kAdd, counters.back(), one, stream)));
    }
  }
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  for (const Address counter : counters) EXPECT_EQ(Floats(counter, 1)[0], 6000);
}

TEST_F(StreamTest, GivesEachStreamANumberOfItsOwnForever) {
  std::set<Stream> seen = {kDefaultStream};
  for (int i = 0; i < 500; ++i) {
    const Stream stream = NewStream();
    EXPECT_TRUE(seen.insert(stream).second);
    if (i % 2 == 1) continue;
    EXPECT_TRUE(IsOk(backend().DestroyStream(stream)));
  }
}

TEST_F(StreamTest, TakesAnyPriority) {
  for (const int priority :
       {0, 1, -1, 1000, -1000, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    const absl::StatusOr<Stream> stream = backend().CreateStream({.priority = priority});
    ASSERT_TRUE(IsOk(stream)) << priority;
    const Address address = Alloc(4);
    ASSERT_TRUE(IsOk(backend().Memset(address, 7, 4, *stream)));
    EXPECT_EQ(Download<std::uint8_t>(address, 4, *stream), std::vector<std::uint8_t>(4, 7));
  }
}

TEST_F(StreamTest, SynchronizeStreamWaitsForItsWork) {
  const Stream stream = NewStream();
  const Event event = NewEvent();
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  const absl::StatusOr<bool> done = backend().QueryEvent(event);
  ASSERT_TRUE(IsOk(done));
  EXPECT_TRUE(*done);
}

TEST_F(StreamTest, SynchronizeWaitsForTheWorkOfAllStreams) {
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) {
    const Stream stream = i == 0 ? kDefaultStream : NewStream();
    events.push_back(NewEvent());
    KeepBusy(stream);
    ASSERT_TRUE(IsOk(backend().RecordEvent(events.back(), stream)));
  }
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  for (const Event event : events) {
    const absl::StatusOr<bool> done = backend().QueryEvent(event);
    ASSERT_TRUE(IsOk(done));
    EXPECT_TRUE(*done);
  }
}

TEST_F(StreamTest, SynchronizesStreamsWithoutWork) {
  EXPECT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(kDefaultStream)));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(NewStream())));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
}

// A stream behind a long wait holds up neither another stream nor the default one.
TEST_F(StreamTest, DoesNotWaitForOtherStreams) {
  const Stream slow = NewStream();
  const Stream waiting = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(4);
  KeepBusy(slow, 4);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, slow)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(waiting, event)));
  ASSERT_TRUE(IsOk(backend().Memset(x, 1, 4, waiting)));
  ASSERT_TRUE(IsOk(backend().Memset(x, 2, 4)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(kDefaultStream)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(NewStream())));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(waiting)));
  EXPECT_EQ(Download<std::uint8_t>(x, 4), std::vector<std::uint8_t>(4, 1));
}

TEST_F(StreamTest, FinishesTheWorkOfADestroyedStream) {
  const Stream stream = NewStream();
  const Event event = NewEvent();
  const Address x = Alloc(4);
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Memset(x, 5, 4, stream)));
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
  ASSERT_TRUE(IsOk(backend().DestroyStream(stream)));
  EXPECT_TRUE(HasReason(backend().Memset(x, 6, 4, stream), reason::kUnknownStream));
  ASSERT_TRUE(IsOk(backend().SynchronizeEvent(event)));
  EXPECT_EQ(Download<std::uint8_t>(x, 4), std::vector<std::uint8_t>(4, 5));
}

TEST_F(StreamTest, SynchronizeWaitsForTheWorkOfADestroyedStreamToo) {
  const Stream stream = NewStream();
  const Address x = Alloc(4);
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Memset(x, 5, 4, stream)));
  ASSERT_TRUE(IsOk(backend().DestroyStream(stream)));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_EQ(Download<std::uint8_t>(x, 4), std::vector<std::uint8_t>(4, 5));
}

TEST_F(StreamTest, ReportsEveryUseOfAnUnknownStream) {
  const Stream destroyed = NewStream();
  ASSERT_TRUE(IsOk(backend().DestroyStream(destroyed)));
  const Event event = NewEvent();
  for (const Stream stream : {destroyed, Stream{987654}, Stream{~std::uint64_t{0}}}) {
    for (const absl::Status& status :
         {backend().DestroyStream(stream), backend().SynchronizeStream(stream),
          backend().RecordEvent(event, stream), backend().WaitEvent(stream, event)}) {
      EXPECT_TRUE(IsInvalidArgument(status));
      EXPECT_TRUE(HasReason(status, reason::kUnknownStream));
    }
  }
}

TEST_F(StreamTest, DoesNotDestroyTheDefaultStream) {
  EXPECT_TRUE(IsInvalidArgument(backend().DestroyStream(kDefaultStream)));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(kDefaultStream)));
}

TEST_F(StreamTest, CreatesAndDestroysStreamsAgainAndAgain) {
  const Address x = Alloc(4);
  for (int i = 0; i < 1000; ++i) {
    const Stream stream = NewStream();
    ASSERT_TRUE(IsOk(backend().Memset(x, 1, 4, stream)));
    ASSERT_TRUE(IsOk(backend().DestroyStream(stream)));
  }
  EXPECT_TRUE(IsOk(backend().Synchronize()));
}

TEST_F(StreamTest, UsesManyStreamsAtOnce) {
  std::vector<Stream> streams;
  std::vector<Address> addresses;
  for (int i = 0; i < 64; ++i) {
    streams.push_back(NewStream());
    addresses.push_back(Alloc(64));
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      ASSERT_TRUE(IsOk(
          backend().Memset(addresses[i], static_cast<std::uint8_t>(i + round), 64, streams[i])));
    }
  }
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(Download<std::uint8_t>(addresses[i], 1)[0], i + 9);
  }
}

}  // namespace
}  // namespace acceld::conformance
