// Errors that in process and through the daemon are the same to the letter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

inline absl::Status UnknownStream(Stream stream) {
  return InvalidArgument(
      fmt::format("Stream {} does not exist.", static_cast<std::uint64_t>(stream)),
      reason::kUnknownStream);
}

inline absl::Status UnknownEvent(Event event) {
  return InvalidArgument(fmt::format("Event {} does not exist.", static_cast<std::uint64_t>(event)),
                         reason::kUnknownEvent);
}

inline absl::Status UnknownProgram(Program program) {
  return InvalidArgument(
      fmt::format("Program {} does not exist.", static_cast<std::uint64_t>(program)),
      reason::kUnknownProgram);
}

// `what` starts the error, such as "A copy from the host".
inline absl::Status StreamRecording(std::string_view what, Stream stream) {
  return NotInitialized(
      fmt::format("{} is on stream {}, which records a program; call EndRecording first.", what,
                  static_cast<std::uint64_t>(stream)),
      reason::kStreamRecording);
}

inline absl::Status DefaultStreamStays() {
  return InvalidArgument("The default stream cannot be destroyed.");
}

// `what` is "streams", "events", "programs", "allocations" or "mappable allocations".
inline absl::Status LimitExceeded(std::string_view what, std::size_t limit) {
  return OutOfMemory(fmt::format("There are {} {} already, the most a client may have at a time; "
                                 "destroy one first.",
                                 limit, what),
                     reason::kLimitExceeded);
}

inline absl::Status EmptyAllocation() {
  return InvalidArgument("Alloc of 0 bytes: an allocation has at least 1 byte.");
}

inline absl::Status NoMappableMemory() {
  return UnsupportedError("The device has no mappable memory.");
}

inline absl::Status NotMappable(Address address) {
  return UnsupportedError(
      fmt::format("The allocation at {:#x} is not mappable; Alloc has an option for it.", address));
}

inline absl::Status NotMapped(Address address) {
  return InvalidArgument(fmt::format("The allocation at {:#x} is not mapped.", address));
}

inline absl::Status NoOpenableMemory() {
  return UnsupportedError("The device has no openable memory.");
}

inline absl::Status NotOpenable(Address address) {
  return UnsupportedError(
      fmt::format("The allocation at {:#x} is not openable; Alloc has an option for it.", address));
}

inline absl::Status NoDescriptors() {
  return UnsupportedError(
      "There is no openable memory over a transport that passes no descriptors; shared memory and "
      "frames on a Unix socket do.");
}

inline absl::Status NoDirectOpening() {
  return WithReason(
      absl::PermissionDeniedError("The daemon gives no openable memory, unless its configuration "
                                  "has allow_direct_opening: true."),
      reason::kPermissionDenied);
}

// What becomes of work that had not started when its session ended.
inline absl::Status SessionCancelled() {
  return WithReason(absl::CancelledError("The session has ended."), reason::kSessionEnded);
}

inline absl::Status SessionEnded() {
  return NotInitialized("The session has ended.", reason::kSessionEnded);
}

}  // namespace acceld
