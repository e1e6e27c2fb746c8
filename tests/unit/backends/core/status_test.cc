#include "backends/core/status.h"

#include <string>

#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(StatusTest, EachKindHasItsCodeAndReason) {
  struct Case {
    absl::Status status;
    absl::StatusCode code;
    std::string_view reason;
  };
  for (const Case& c : {
           Case{UnsupportedError("m"), absl::StatusCode::kUnimplemented, "UNSUPPORTED"},
           Case{DeviceError("m"), absl::StatusCode::kInternal, "DEVICE_ERROR"},
           Case{InvalidArgument("m"), absl::StatusCode::kInvalidArgument, "INVALID_ARGUMENT"},
           Case{OutOfMemory("m"), absl::StatusCode::kResourceExhausted, "DEVICE_OUT_OF_MEMORY"},
           Case{NotInitialized("m"), absl::StatusCode::kFailedPrecondition, "NOT_INITIALIZED"},
       }) {
    EXPECT_EQ(c.status.code(), c.code);
    EXPECT_EQ(c.status.message(), "m");
    EXPECT_EQ(GetReason(c.status), c.reason);
  }
}

TEST(StatusTest, AKindTakesAMoreExactReason) {
  EXPECT_EQ(GetReason(OutOfMemory("m", reason::kQuotaExceeded)), "QUOTA_EXCEEDED");
  EXPECT_EQ(GetReason(DeviceError("m", reason::kDeviceLost)), "DEVICE_LOST");
}

TEST(StatusTest, AReasonSetAgainReplacesTheFormer) {
  EXPECT_EQ(GetReason(WithReason(InvalidArgument("m"), reason::kUnknownStream)), "UNKNOWN_STREAM");
}

TEST(StatusTest, AnEmptyReasonChangesNothing) {
  EXPECT_EQ(GetReason(WithReason(InvalidArgument("m"), "")), "INVALID_ARGUMENT");
}

TEST(StatusTest, OkHasNoReason) {
  const absl::Status ok = WithReason(absl::OkStatus(), reason::kDraining);
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(GetReason(ok), "");
}

TEST(StatusTest, AStatusOfAnotherOriginHasNoReason) {
  EXPECT_EQ(GetReason(absl::UnavailableError("m")), "");
}

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("odd");
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  ACCELD_ASSIGN_OR_RETURN(const int half, Half(value));
  ACCELD_RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(StatusTest, MacrosPassValuesAndReturnErrors) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(3).status().message(), "odd");
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

}  // namespace
}  // namespace acceld
