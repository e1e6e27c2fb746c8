// The kinds of error acceld reports, each an absl::Status with a machine-readable reason.
//
// Where several errors apply to a call, the one reported is the first of: not initialized,
// unsupported, invalid argument, out of memory. A lost daemon is absl::StatusCode::kUnavailable.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace acceld {

// Reasons, for programs: in UPPER_SNAKE_CASE, stable once published. They ride along as a payload
// of the status and as google.rpc.ErrorInfo on the wire. A newer daemon may send others.
namespace reason {
inline constexpr std::string_view kUnsupported = "UNSUPPORTED";
inline constexpr std::string_view kDeviceError = "DEVICE_ERROR";
inline constexpr std::string_view kDeviceLost = "DEVICE_LOST";
inline constexpr std::string_view kInvalidArgument = "INVALID_ARGUMENT";
inline constexpr std::string_view kUnknownAddress = "UNKNOWN_ADDRESS";
inline constexpr std::string_view kUnknownStream = "UNKNOWN_STREAM";
inline constexpr std::string_view kUnknownEvent = "UNKNOWN_EVENT";
inline constexpr std::string_view kUnknownProgram = "UNKNOWN_PROGRAM";
inline constexpr std::string_view kLimitExceeded = "LIMIT_EXCEEDED";
inline constexpr std::string_view kDeviceOutOfMemory = "DEVICE_OUT_OF_MEMORY";
inline constexpr std::string_view kQuotaExceeded = "QUOTA_EXCEEDED";
inline constexpr std::string_view kNotInitialized = "NOT_INITIALIZED";
inline constexpr std::string_view kEventPending = "EVENT_PENDING";
inline constexpr std::string_view kStreamRecording = "STREAM_RECORDING";
inline constexpr std::string_view kForkedProcess = "FORKED_PROCESS";
inline constexpr std::string_view kSessionNotFound = "SESSION_NOT_FOUND";
inline constexpr std::string_view kSessionBusy = "SESSION_BUSY";
inline constexpr std::string_view kSessionEnded = "SESSION_ENDED";
inline constexpr std::string_view kPermissionDenied = "PERMISSION_DENIED";
inline constexpr std::string_view kVersionUnsupported = "VERSION_UNSUPPORTED";
inline constexpr std::string_view kDraining = "DRAINING";
inline constexpr std::string_view kConnectionLost = "CONNECTION_LOST";
}  // namespace reason

// The device or this build cannot do it (kUnimplemented).
absl::Status UnsupportedError(std::string_view message,
                              std::string_view reason = reason::kUnsupported);

// The device failed while it worked (kInternal).
absl::Status DeviceError(std::string_view message, std::string_view reason = reason::kDeviceError);

// The caller's mistake; nothing was touched (kInvalidArgument).
absl::Status InvalidArgument(std::string_view message,
                             std::string_view reason = reason::kInvalidArgument);

// Memory, a quota or a table is full (kResourceExhausted).
absl::Status OutOfMemory(std::string_view message,
                         std::string_view reason = reason::kDeviceOutOfMemory);

// A call came before the one it needs (kFailedPrecondition).
absl::Status NotInitialized(std::string_view message,
                            std::string_view reason = reason::kNotInitialized);

// `status` with `reason` set; an OK status stays as it is.
absl::Status WithReason(absl::Status status, std::string_view reason);

// The reason set on `status`; empty where there is none.
std::string GetReason(const absl::Status& status);

// Returns the error of an expression that yields an absl::Status, if it is one.
#define ACCELD_RETURN_IF_ERROR(expression)                                                       \
  do {                                                                                           \
    if (absl::Status acceld_status_ = (expression); !acceld_status_.ok()) return acceld_status_; \
  } while (false)

#define ACCELD_CONCAT_INNER(a, b) a##b
#define ACCELD_CONCAT(a, b) ACCELD_CONCAT_INNER(a, b)

// Declares or assigns `lhs` from an absl::StatusOr, or returns its error.
#define ACCELD_ASSIGN_OR_RETURN(lhs, expression) \
  ACCELD_ASSIGN_OR_RETURN_IMPL(ACCELD_CONCAT(acceld_result_, __LINE__), lhs, expression)
#define ACCELD_ASSIGN_OR_RETURN_IMPL(result, lhs, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) return std::move(result).status();        \
  lhs = *std::move(result)

}  // namespace acceld
