#include "backends/core/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace acceld {
namespace {

constexpr char kReasonUrl[] = "type.acceld/reason";

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

absl::Status Make(absl::StatusCode code, std::string_view message, std::string_view reason) {
  return WithReason(absl::Status(code, ToAbsl(message)), reason);
}

}  // namespace

absl::Status UnsupportedError(std::string_view message, std::string_view reason) {
  return Make(absl::StatusCode::kUnimplemented, message, reason);
}

absl::Status DeviceError(std::string_view message, std::string_view reason) {
  return Make(absl::StatusCode::kInternal, message, reason);
}

absl::Status InvalidArgument(std::string_view message, std::string_view reason) {
  return Make(absl::StatusCode::kInvalidArgument, message, reason);
}

absl::Status OutOfMemory(std::string_view message, std::string_view reason) {
  return Make(absl::StatusCode::kResourceExhausted, message, reason);
}

absl::Status NotInitialized(std::string_view message, std::string_view reason) {
  return Make(absl::StatusCode::kFailedPrecondition, message, reason);
}

absl::Status WithReason(absl::Status status, std::string_view reason) {
  if (!status.ok() && !reason.empty()) status.SetPayload(kReasonUrl, absl::Cord(ToAbsl(reason)));
  return status;
}

std::string GetReason(const absl::Status& status) {
  const auto payload = status.GetPayload(kReasonUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace acceld
