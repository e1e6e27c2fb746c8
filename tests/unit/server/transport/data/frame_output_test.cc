#include "server/transport/data/frame_output.h"

#include <fcntl.h>
#include <unistd.h>

#include "backends/core/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/server/transport/data/fake_stream.h"
#include "tests/unit/server/transport/data/received_frames.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FrameOutputTest : public ::testing::Test {
 protected:
  std::shared_ptr<DataFrame> Data(std::uint64_t number, std::string_view text) {
    auto data = std::make_shared<DataFrame>(number, text.size(), held_bytes_);
    std::memcpy(data->data().data(), text.data(), text.size());
    return data;
  }
  void FinishWithError(std::uint64_t number) {
    output_.Finish(number, {.status = InvalidArgument("It is wrong."), .value = {}}, false);
  }
  // Whether everything was sent.
  bool Flush() {
    EXPECT_THAT(output_.Flush().status(), IsOk());
    return !output_.waits_for_room();
  }
  std::vector<std::string> Sent() { return WordsOf(TakeFrames(stream_.written)); }

  FakeStream stream_;
  std::atomic<std::uint64_t> held_bytes_{0};
  FrameOutput output_{stream_};
};

TEST_F(FrameOutputTest, NothingIsSentOfNothing) {
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(FrameOutputTest, OneFrameReportsManyCommands) {
  for (std::uint64_t i = 1; i <= 100; ++i) output_.Finish(i, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 100"));
  EXPECT_EQ(output_.finished_count(), 100u);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(FrameOutputTest, ProgressAloneWaitsUntilAllHaveFinished) {
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(output_.Accept(), i);
  output_.Finish(1, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), IsEmpty());
  // It goes along with what has something to tell.
  FinishWithError(2);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("result 2", "finished 2"));
  output_.Finish(3, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 3"));
}

TEST_F(FrameOutputTest, MuchProgressIsTold) {
  for (int i = 0; i < 1000; ++i) output_.Accept();
  for (std::uint64_t i = 1; i <= 500; ++i) output_.Finish(i, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 500"));
}

TEST_F(FrameOutputTest, TellsOfEachCommandAtOnceWhereThatIsAskedFor) {
  output_.Accept();
  output_.Accept();
  output_.TellAtOnce(true);
  output_.Finish(1, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 1"));
}

TEST_F(FrameOutputTest, ResultsComeBeforeTheProgressThatCoversThem) {
  output_.Finish(1, {}, false);
  FinishWithError(2);
  output_.Finish(3, {.status = {}, .value = Address{7}}, false);
  output_.Finish(4, {}, true);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("result 2", "result 3", "result 4", "finished 4"));
}

TEST_F(FrameOutputTest, CommandsOutOfOrderAreReportedOnceAllBeforeThemAreOver) {
  output_.Finish(3, {}, false);
  output_.Finish(5, {}, true);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("result 5"));
  output_.Finish(1, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 1"));
  output_.Finish(2, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 3"));
  output_.Finish(4, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 5"));
  EXPECT_EQ(output_.finished_count(), 5u);
}

TEST_F(FrameOutputTest, AnyOrderOfEndsGivesTheSameProgress) {
  std::vector<std::uint64_t> order = {1, 2, 3, 4, 5, 6};
  do {
    FakeStream stream;
    FrameOutput output(stream);
    for (const std::uint64_t number : order) output.Finish(number, {}, false);
    ASSERT_TRUE(output.Flush().ok());
    ASSERT_THAT(WordsOf(TakeFrames(stream.written)), ElementsAre("finished 6"));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(FrameOutputTest, BytesKeepTheirPlaceAmongTheAnswers) {
  FinishWithError(1);
  output_.Finish(Data(2, "bytes"));
  FinishWithError(3);
  output_.Finish(Data(4, ""));
  output_.Finish(5, {}, false);
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("result 1", "data 2: bytes", "result 3", "data 4: ", "finished 1",
                                  "finished 5"));
}

TEST_F(FrameOutputTest, AReadIsFinishedWhenItsBytesAreSent) {
  stream_.room = sizeof(frames::Header) + 2;
  auto data = Data(1, "bytes");
  output_.Finish(std::move(data));
  EXPECT_GT(held_bytes_, 0u);
  EXPECT_FALSE(Flush());
  EXPECT_EQ(output_.finished_count(), 0u);
  stream_.room = 1000;
  EXPECT_TRUE(Flush());
  EXPECT_EQ(output_.finished_count(), 1u);
  EXPECT_EQ(held_bytes_, 0u);
  EXPECT_THAT(Sent(), ElementsAre("data 1: bytes", "finished 1"));
}

TEST_F(FrameOutputTest, AnySplitOfWhatTheStreamTakesGivesTheSameFrames) {
  for (std::size_t step = 1; step < 60; ++step) {
    SCOPED_TRACE(step);
    FakeStream stream;
    FrameOutput output(stream);
    stream.room = 0;
    output.Finish(1, {.status = {}, .value = Address{7}}, false);
    output.Finish(Data(2, "some bytes"));
    output.Finish(3, {}, true);
    for (int steps = 0; steps == 0 || output.waits_for_room(); ++steps) {
      ASSERT_LT(steps, 1000);
      ASSERT_TRUE(output.Flush().ok());
      stream.room = step;
    }
    EXPECT_THAT(
        WordsOf(TakeFrames(stream.written)),
        ElementsAre("result 1", "data 2: some bytes", "result 3", "finished 1", "finished 3"));
    EXPECT_THAT(stream.written, IsEmpty());
  }
}

TEST_F(FrameOutputTest, TellsWhenItBeginsAndEndsToWaitForRoom) {
  stream_.room = 0;
  output_.Finish(1, {}, false);
  EXPECT_TRUE(*output_.Flush());
  EXPECT_TRUE(output_.waits_for_room());
  EXPECT_FALSE(*output_.Flush());
  stream_.room = 1000;
  EXPECT_TRUE(*output_.Flush());
  EXPECT_FALSE(output_.waits_for_room());
  EXPECT_FALSE(*output_.Flush());
}

TEST_F(FrameOutputTest, AStreamThatTakesNothingHeapsUpNoProgress) {
  stream_.room = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    output_.Finish(i, {}, false);
    EXPECT_FALSE(Flush());
  }
  stream_.room = 1000;
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("finished 1", "finished 1000"));
}

TEST_F(FrameOutputTest, CountsTheAnswersThatWait) {
  EXPECT_EQ(output_.waiting_bytes(), 0u);
  stream_.room = 0;
  FinishWithError(1);
  const std::size_t one = output_.waiting_bytes();
  EXPECT_GT(one, sizeof(frames::Header));
  FinishWithError(2);
  EXPECT_EQ(output_.waiting_bytes(), 2 * one);
  stream_.room = 1000;
  EXPECT_TRUE(Flush());
  EXPECT_EQ(output_.waiting_bytes(), 0u);
}

TEST_F(FrameOutputTest, NothingComesBehindTheEnd) {
  output_.Finish(1, {}, false);
  output_.End(absl::CancelledError("It is over."));
  output_.End(absl::CancelledError("It is over again."));
  FinishWithError(2);
  output_.Finish(Data(3, "bytes"));
  EXPECT_TRUE(Flush());
  const std::vector<ReceivedFrame> frames = TakeFrames(stream_.written);
  EXPECT_THAT(WordsOf(frames), ElementsAre("end"));
  EXPECT_EQ(frames.back().result().status, absl::CancelledError("It is over."));
  EXPECT_EQ(output_.finished_count(), 3u);
  EXPECT_EQ(held_bytes_, 0u);
}

TEST_F(FrameOutputTest, TheEndWaitsForBytesThatAreHalfOut) {
  stream_.room = sizeof(frames::Header) + 2;
  output_.Finish(Data(1, "bytes"));
  output_.Finish(Data(2, "others"));
  output_.Finish(Data(3, "more"));
  EXPECT_FALSE(Flush());
  output_.End(absl::CancelledError("It is over."));
  EXPECT_EQ(output_.finished_count(), 2u);
  stream_.room = 1000;
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("data 1: bytes", "end"));
  EXPECT_EQ(output_.finished_count(), 3u);
}

TEST_F(FrameOutputTest, TheEndTakesThePlaceOfBytesThatHaveNotBegun) {
  stream_.room = 0;
  output_.Finish(Data(1, "bytes"));
  EXPECT_FALSE(Flush());
  output_.End(absl::CancelledError("It is over."));
  stream_.room = 1000;
  EXPECT_TRUE(Flush());
  EXPECT_THAT(Sent(), ElementsAre("end"));
}

TEST_F(FrameOutputTest, ErrorsAreTheStreams) {
  stream_.broken = absl::UnavailableError("It is broken.");
  output_.Finish(1, {}, false);
  EXPECT_EQ(output_.Flush().status(), stream_.broken);
}

TEST_F(FrameOutputTest, AsksTheStreamBeforeOneWaitsForRoom) {
  EXPECT_TRUE(output_.HasRoom());
  EXPECT_FALSE(output_.PrepareToWaitForRoom());
  stream_.room = 0;
  EXPECT_FALSE(output_.HasRoom());
  EXPECT_TRUE(output_.PrepareToWaitForRoom());
  EXPECT_EQ(stream_.waits_for_room, 2);
}

class FrameOutputDescriptorTest : public FrameOutputTest {
 protected:
  static UniqueFd NewDescriptor() { return UniqueFd(dup(STDERR_FILENO)); }
  static bool IsOpen(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }
  // Finishes a command with a descriptor; returns which that is.
  int Finish(std::uint64_t number) {
    UniqueFd descriptor = NewDescriptor();
    const int known = descriptor.get();
    output_.Finish(number, {.status = {}, .value = Address{9}}, std::move(descriptor));
    return known;
  }
};

TEST_F(FrameOutputDescriptorTest, GoesWithTheFirstByteOfItsResultAndIsClosed) {
  FinishWithError(1);
  output_.Finish(Data(2, "abc"));
  const int third = Finish(3);
  const int fourth = Finish(4);
  output_.Finish(5, {.status = {}, .value = Address{7}}, false);
  EXPECT_TRUE(output_.descriptor_waits());
  EXPECT_TRUE(Flush());
  EXPECT_FALSE(output_.descriptor_waits());
  ASSERT_EQ(stream_.descriptors.size(), 2u);
  EXPECT_EQ(stream_.descriptors[0].first, third);
  EXPECT_EQ(stream_.descriptors[1].first, fourth);
  for (const auto& [descriptor, place] : stream_.descriptors) {
    EXPECT_FALSE(IsOpen(descriptor));
    frames::Header header;
    std::memcpy(&header, stream_.written.data() + place, sizeof header);
    EXPECT_EQ(header.number, descriptor == third ? 3u : 4u);
  }
  EXPECT_THAT(Sent(), ElementsAre("result 1", "data 2: abc", "result 3", "result 4", "result 5",
                                  "finished 1", "finished 5"));
  EXPECT_EQ(output_.waiting_bytes(), 0u);
}

TEST_F(FrameOutputDescriptorTest, WaitsForRoomAndIsSentOnce) {
  const int descriptor = Finish(1);
  stream_.room = 0;
  EXPECT_FALSE(Flush());
  EXPECT_TRUE(IsOpen(descriptor));
  EXPECT_TRUE(output_.descriptor_waits());
  stream_.room = 1;
  EXPECT_FALSE(Flush());
  EXPECT_FALSE(output_.descriptor_waits());
  stream_.room = 1000;
  EXPECT_TRUE(Flush());
  EXPECT_EQ(stream_.descriptors.size(), 1u);
  EXPECT_THAT(Sent(), ElementsAre("result 1", "finished 1"));
}

TEST_F(FrameOutputDescriptorTest, ThatCannotBeSentMakesTheResultAnError) {
  const int descriptor = Finish(1);
  stream_.no_descriptors = absl::UnavailableError("Too many references.");
  EXPECT_TRUE(Flush());
  EXPECT_FALSE(IsOpen(descriptor));
  const std::vector<ReceivedFrame> frames = TakeFrames(stream_.written);
  EXPECT_THAT(WordsOf(frames), ElementsAre("result 1", "finished 1"));
  EXPECT_THAT(frames[0].result().status,
              IsStatus(absl::StatusCode::kResourceExhausted,
                       "The daemon cannot send the descriptor: Too many references."));
}

TEST_F(FrameOutputDescriptorTest, IsClosedWhereTheSessionEndsFirst) {
  stream_.room = 0;
  FinishWithError(1);
  EXPECT_FALSE(Flush());
  const int second = Finish(2);
  output_.End(absl::CancelledError("It is over."));
  EXPECT_FALSE(IsOpen(second));
  const int third = Finish(3);
  EXPECT_FALSE(IsOpen(third));
  EXPECT_EQ(output_.finished_count(), 3u);
}

}  // namespace
}  // namespace acceld
