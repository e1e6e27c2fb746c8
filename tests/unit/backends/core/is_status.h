// Matchers for absl::Status; the installed Abseil has none.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "backends/core/status.h"
#include "gmock/gmock.h"

namespace acceld {

// A status of this code whose message contains `part`.
MATCHER_P2(IsStatus, code, part, "") {
  *result_listener << arg;
  return arg.code() == code && std::string(arg.message()).find(part) != std::string::npos;
}

inline auto IsInvalid(std::string part) {
  return IsStatus(absl::StatusCode::kInvalidArgument, std::move(part));
}

MATCHER(IsOk, "") {
  *result_listener << arg;
  return arg.ok();
}

// A status that carries this machine-readable reason.
MATCHER_P(HasReason, reason, "") {
  *result_listener << arg;
  return GetReason(arg) == reason;
}

}  // namespace acceld
