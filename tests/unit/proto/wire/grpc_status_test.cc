#include "proto/wire/grpc_status.h"

#include <string>

#include "acceld/internal/google_rpc_status.pb.h"
#include "acceld/v1/status.pb.h"
#include "backends/core/status.h"
#include "gtest/gtest.h"
#include "proto/wire/status_wire.h"

namespace acceld {
namespace {

internal::GoogleRpcStatus Details(const grpc::Status& status) {
  internal::GoogleRpcStatus details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

TEST(GrpcStatusTest, KeepsEveryCodeAndItsMessageAndReason) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status =
        WithReason(absl::Status(static_cast<absl::StatusCode>(code), "message"), reason::kDraining);
    const grpc::Status sent = ToGrpcStatus(status);
    EXPECT_EQ(static_cast<int>(sent.error_code()), code);
    EXPECT_EQ(sent.error_message(), "message");
    EXPECT_EQ(FromGrpcStatus(sent), status);
  }
}

TEST(GrpcStatusTest, OkIsOk) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_EQ(FromGrpcStatus(grpc::Status::OK), absl::OkStatus());
}

// Other languages read the details as Google's messages, whose numbers these bytes have.
TEST(ToGrpcStatusTest, DetailsAreAGoogleRpcStatusWithAGoogleRpcErrorInfo) {
  using namespace std::string_literals;
  const std::string error_info = "\x0A\x01R\x12\x06"s + "acceld"s;
  const std::string any =
      "\x0A\x28"s + "type.googleapis.com/google.rpc.ErrorInfo"s + "\x12\x0B"s + error_info;
  const std::string expected = "\x08\x03\x12\x01m\x1A"s + static_cast<char>(any.size()) + any;
  EXPECT_EQ(ToGrpcStatus(InvalidArgument("m", "R")).error_details(), expected);
}

// As python3-grpcio's grpc_status does before it shows the details.
TEST(ToGrpcStatusTest, DetailsAgreeWithTheCall) {
  for (const std::string& message :
       {std::string("short"), std::string(5000, 'x'), std::string("\xFF")}) {
    const grpc::Status status = ToGrpcStatus(InvalidArgument(message));
    EXPECT_EQ(Details(status).code(), status.error_code());
    EXPECT_EQ(Details(status).message(), status.error_message());
  }
}

TEST(ToGrpcStatusTest, WithoutAReasonThereIsNoErrorInfo) {
  const grpc::Status status = ToGrpcStatus(absl::InternalError("message"));
  EXPECT_EQ(Details(status).details_size(), 0);
  EXPECT_EQ(FromGrpcStatus(status), absl::InternalError("message"));
}

TEST(ToGrpcStatusTest, TheLongestTrailersFitIntoGrpcsLimit) {
  std::string message;
  while (message.size() < 10'000) message += "\u20AC";
  const grpc::Status status = ToGrpcStatus(InvalidArgument(message, std::string(1000, 'R')));
  const std::size_t percent_encoded = 3 * status.error_message().size();
  const std::size_t base64 = (status.error_details().size() + 2) / 3 * 4;
  // 1 KiB is left for the names and what else a server sends.
  EXPECT_LE(percent_encoded + base64, 7u * 1024);
  EXPECT_GT(status.error_message().size(), 1000u);
}

TEST(FromGrpcStatusTest, LeavesOutDetailsThatAreMalformedOrForeign) {
  internal::GoogleRpcStatus foreign;
  foreign.add_details()->set_type_url("type.googleapis.com/google.rpc.RetryInfo");
  internal::GoogleRpcStatus malformed;
  malformed.add_details()->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  malformed.mutable_details(0)->set_value("\xFF\xFF");
  internal::GoogleRpcStatus other_domain;
  other_domain.add_details()->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  other_domain.mutable_details(0)->set_value("\x0A\x01R\x12\x01z");
  for (const std::string& details :
       {std::string("\xFF\xFF"), foreign.SerializeAsString(), malformed.SerializeAsString(),
        other_domain.SerializeAsString()}) {
    const grpc::Status status(grpc::StatusCode::NOT_FOUND, "message", details);
    EXPECT_EQ(FromGrpcStatus(status), absl::NotFoundError("message"));
  }
}

TEST(FromGrpcStatusTest, FindsTheReasonBehindOtherDetails) {
  internal::GoogleRpcStatus details;
  details.add_details()->set_type_url("type.googleapis.com/google.rpc.RetryInfo");
  details.add_details()->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  details.mutable_details(1)->set_value(
      "\x0A\x08"
      "DRAINING\x12\x06"
      "acceld");
  const grpc::Status status(grpc::StatusCode::UNAVAILABLE, "message", details.SerializeAsString());
  EXPECT_EQ(GetReason(FromGrpcStatus(status)), reason::kDraining);
}

TEST(FromGrpcStatusTest, AnUnknownCodeIsAnUnknownError) {
  EXPECT_EQ(FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(31), "message")),
            absl::UnknownError("message"));
  EXPECT_EQ(FromGrpcStatus(grpc::Status(grpc::StatusCode::DO_NOT_USE, "message")),
            absl::UnknownError("message"));
}

TEST(FromGrpcStatusTest, BoundsTheMessage) {
  const grpc::Status status(grpc::StatusCode::INTERNAL, std::string(100'000, 'x'));
  EXPECT_EQ(FromGrpcStatus(status).message().size(), kMaxStatusMessageBytes);
}

}  // namespace
}  // namespace acceld
