#include "backends/context/program_recorder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

constexpr Stream kStream{3};
constexpr Stream kOther{4};

TEST(ProgramRecorder, KeepsWhatAStreamRecordsAndNothingElse) {
  ProgramRecorder recorder;
  EXPECT_FALSE(recorder.Recording(kStream));
  EXPECT_THAT(recorder.Begin(kStream), IsOk());
  EXPECT_TRUE(recorder.Recording(kStream));
  EXPECT_FALSE(recorder.Recording(kOther));
  EXPECT_THAT(recorder.Add(kStream, EventItem{.event = Event{1}}, 8), IsOk());
  EXPECT_THAT(recorder.Add(kStream, ops::Memset{.bytes = 5}, 8), IsOk());
  const auto items = recorder.End(kStream);
  ASSERT_THAT(items.status(), IsOk());
  ASSERT_EQ(items->size(), 2u);
  EXPECT_EQ(std::get<EventItem>((*items)[0]).event, Event{1});
  EXPECT_EQ(std::get<ops::Memset>(std::get<Op>((*items)[1])).bytes, 5u);
  EXPECT_FALSE(recorder.Recording(kStream));
}

TEST(ProgramRecorder, AStreamRecordsOneAtATime) {
  ProgramRecorder recorder;
  EXPECT_THAT(recorder.Begin(kStream), IsOk());
  const absl::Status again = recorder.Begin(kStream);
  EXPECT_THAT(again, IsStatus(absl::StatusCode::kFailedPrecondition, "stream 3"));
  EXPECT_THAT(again, HasReason(reason::kStreamRecording));
  EXPECT_THAT(recorder.Begin(kOther), IsOk());
  EXPECT_THAT(recorder.End(kStream).status(), IsOk());
  EXPECT_TRUE(recorder.Recording(kOther));
  EXPECT_THAT(recorder.Begin(kStream), IsOk());
}

TEST(ProgramRecorder, WithoutARecordingThereIsNothingToAddToOrToEnd) {
  ProgramRecorder recorder;
  EXPECT_THAT(recorder.Add(kStream, EventItem{}, 8),
              IsStatus(absl::StatusCode::kFailedPrecondition, "Stream 3"));
  EXPECT_THAT(recorder.End(kStream).status(),
              IsStatus(absl::StatusCode::kFailedPrecondition, "BeginRecording"));
}

TEST(ProgramRecorder, AProgramHasALimit) {
  ProgramRecorder recorder;
  EXPECT_THAT(recorder.Begin(kStream), IsOk());
  EXPECT_THAT(recorder.Add(kStream, EventItem{}, 1), IsOk());
  EXPECT_THAT(recorder.Add(kStream, EventItem{}, 1), HasReason(reason::kLimitExceeded));
  EXPECT_EQ(recorder.End(kStream)->size(), 1u);
}

TEST(ProgramRecorder, SaysWhatCannotBeDoneMeanwhile) {
  ProgramRecorder recorder;
  EXPECT_THAT(recorder.CheckNotRecording(kStream, "A replay"), IsOk());
  EXPECT_THAT(recorder.Begin(kStream), IsOk());
  EXPECT_THAT(recorder.CheckNotRecording(kStream, "A replay"),
              IsStatus(absl::StatusCode::kFailedPrecondition, "A replay is on stream 3"));
  EXPECT_THAT(recorder.CheckNotRecording(kOther, "A replay"), IsOk());
}

}  // namespace
}  // namespace acceld
