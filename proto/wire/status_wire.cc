#include "proto/wire/status_wire.h"

#include <string>
#include <utility>

#include "backends/core/status.h"
#include "proto/wire/utf8.h"

namespace acceld {
namespace {

// absl has names for gRPC's codes 0 (OK) to 16 (unauthenticated).
constexpr int kMaxCode = static_cast<int>(absl::StatusCode::kUnauthenticated);
static_assert(kMaxCode == 16);

}  // namespace

bool ErrorInfoToWire(const absl::Status& status, v1::ErrorInfo& info) {
  const std::string reason = GetReason(status);
  if (reason.empty()) return false;
  info.Clear();
  info.set_reason(BoundedUtf8(reason, kMaxReasonBytes));
  info.set_domain(kErrorDomain.data(), kErrorDomain.size());
  return true;
}

absl::Status WithErrorInfo(absl::Status status, const v1::ErrorInfo& info) {
  if (info.domain() != kErrorDomain) return status;
  return WithReason(std::move(status), BoundedUtf8(info.reason(), kMaxReasonBytes));
}

absl::Status StatusFromWire(int code, std::string_view message) {
  if (code == 0) return absl::OkStatus();
  const bool known = code > 0 && code <= kMaxCode;
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      BoundedUtf8(message, kMaxStatusMessageBytes));
}

void ToWire(const absl::Status& status, v1::Status& wire) {
  wire.Clear();
  if (status.ok()) return;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(
      BoundedUtf8({status.message().data(), status.message().size()}, kMaxStatusMessageBytes));
  v1::ErrorInfo info;
  if (ErrorInfoToWire(status, info)) *wire.mutable_error_info() = std::move(info);
}

absl::Status FromWire(const v1::Status& wire) {
  return WithErrorInfo(StatusFromWire(wire.code(), wire.message()), wire.error_info());
}

}  // namespace acceld
