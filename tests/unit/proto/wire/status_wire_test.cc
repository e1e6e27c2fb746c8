#include "proto/wire/status_wire.h"

#include <limits>
#include <string>

#include "backends/core/status.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

v1::Status Converted(const absl::Status& status) {
  v1::Status wire;
  ToWire(status, wire);
  return wire;
}

// The status after a trip over the wire.
absl::Status Sent(const absl::Status& status) {
  v1::Status received;
  EXPECT_TRUE(received.ParseFromString(Converted(status).SerializeAsString()));
  return FromWire(received);
}

TEST(StatusWireTest, EveryKindOfErrorKeepsCodeMessageAndReason) {
  for (const absl::Status& status :
       {UnsupportedError("u"), DeviceError("d"), DeviceError("d", reason::kDeviceLost),
        InvalidArgument("i"), InvalidArgument("i", reason::kUnknownAddress), OutOfMemory("o"),
        OutOfMemory("o", reason::kQuotaExceeded), OutOfMemory("o", reason::kLimitExceeded),
        NotInitialized("n"), WithReason(absl::UnavailableError("c"), reason::kConnectionLost),
        WithReason(absl::UnavailableError("c"), reason::kDraining)}) {
    // absl compares code, message and payloads.
    EXPECT_EQ(Sent(status), status);
    EXPECT_EQ(GetReason(Sent(status)), GetReason(status));
    EXPECT_FALSE(GetReason(status).empty());
  }
}

TEST(StatusWireTest, EveryCodeIsKept) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "message");
    EXPECT_EQ(Converted(status).code(), code);
    EXPECT_EQ(Sent(status), status);
  }
}

TEST(StatusWireTest, OkIsTheEmptyMessage) {
  v1::Status wire;
  ToWire(InvalidArgument("before"), wire);
  ToWire(absl::OkStatus(), wire);
  EXPECT_EQ(wire.ByteSizeLong(), 0u);
  EXPECT_EQ(FromWire(wire), absl::OkStatus());
}

TEST(StatusWireTest, AReasonSetsTheErrorInfo) {
  const v1::Status wire = Converted(OutOfMemory("full", reason::kQuotaExceeded));
  EXPECT_EQ(wire.message(), "full");
  EXPECT_EQ(wire.error_info().reason(), "QUOTA_EXCEEDED");
  EXPECT_EQ(wire.error_info().domain(), "acceld");
}

TEST(StatusWireTest, WithoutAReasonThereIsNoErrorInfo) {
  EXPECT_FALSE(Converted(absl::InternalError("message")).has_error_info());
}

TEST(StatusToWireTest, MakesTheMessageUtf8) {
  const absl::Status status = Sent(InvalidArgument("bad \xFF byte"));
  EXPECT_EQ(status.message(), "bad ? byte");
}

TEST(StatusToWireTest, BoundsMessageAndReason) {
  const v1::Status wire =
      Converted(InvalidArgument(std::string(100'000, 'x'), std::string(1000, 'R')));
  EXPECT_EQ(wire.message().size(), kMaxStatusMessageBytes);
  EXPECT_EQ(wire.error_info().reason().size(), kMaxReasonBytes);
}

TEST(StatusFromWireTest, BoundsMessageAndReason) {
  v1::Status wire;
  wire.set_code(3);
  wire.set_message(std::string(100'000, 'x'));
  wire.mutable_error_info()->set_domain("acceld");
  wire.mutable_error_info()->set_reason(std::string(1000, 'R'));
  EXPECT_EQ(FromWire(wire).message().size(), kMaxStatusMessageBytes);
  EXPECT_EQ(GetReason(FromWire(wire)).size(), kMaxReasonBytes);
}

TEST(StatusFromWireTest, AnUnknownCodeIsAnUnknownError) {
  for (int code : {-1, 17, 256, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    v1::Status wire;
    wire.set_code(code);
    wire.set_message("message");
    EXPECT_EQ(FromWire(wire), absl::UnknownError("message")) << code;
  }
}

TEST(StatusFromWireTest, AForeignReasonIsLeftOut) {
  v1::Status wire = Converted(InvalidArgument("message"));
  wire.mutable_error_info()->set_domain("googleapis.com");
  EXPECT_EQ(GetReason(FromWire(wire)), "");
}

TEST(StatusFromWireTest, OkWithAMessageIsOk) {
  v1::Status wire;
  wire.set_message("message");
  wire.mutable_error_info()->set_domain("acceld");
  wire.mutable_error_info()->set_reason("REASON");
  EXPECT_EQ(FromWire(wire), absl::OkStatus());
}

}  // namespace
}  // namespace acceld
