// Times of code.
#pragma once

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace acceld::bench {

// How many seconds `work`, which returns a status, takes; or its error.
template <typename Work>
absl::StatusOr<double> Seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = std::forward<Work>(work)();
  const auto stop = std::chrono::steady_clock::now();
  if (!status.ok()) return status;
  return std::chrono::duration<double>(stop - start).count();
}

// How many microseconds `work` takes on average over `repeats` times, one after another.
template <typename Work>
absl::StatusOr<double> MeanMicroseconds(int repeats, Work&& work) {
  const absl::StatusOr<double> seconds = Seconds([&] {
    absl::Status status;
    for (int i = 0; i < repeats && status.ok(); ++i) status = work();
    return status;
  });
  if (!seconds.ok()) return seconds;
  return *seconds * 1e6 / repeats;
}

}  // namespace acceld::bench
