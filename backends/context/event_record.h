// One record of an event: a point of a stream that is reached when the work before it is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

namespace acceld::internal {

struct StreamState;

// An error of a stream, with the number of the submission that met it first.
struct StreamError {
  absl::Status status;
  std::uint64_t submission = 0;

  explicit operator bool() const { return !status.ok(); }
};

struct EventRecord {
  bool reached = false;
  // The error of the stream at this point.
  StreamError error;
  // When the work before it was done, and not before it was submitted.
  std::chrono::steady_clock::time_point time;

  // Until it is reached: who goes on then.
  std::vector<StreamState*> waiting_streams;
  std::vector<absl::AnyInvocable<void(absl::Status)>> waiting_hosts;
};

}  // namespace acceld::internal
