// A figure of the benchmark, and how it is measured: in a process of its own, so that no figure
// inherits another's threads, memory or failures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/harness/measurement.h"

namespace acceld::bench {

// Where a figure is measured, and how long.
struct Setting {
  // Tiny rounds: whether it works, not how fast it is.
  bool quick = false;
  // Different where the machine has two cores.
  int client_core = 0;
  int daemon_core = 0;

  int Rounds(int full) const { return quick ? 2 : full; }
  // How often a round repeats what is too short to measure once.
  int Repeats(int full) const { return quick ? std::min(full, 10) : full; }
  std::size_t copy_bytes() const { return std::size_t{quick ? 1u : 256u} << 20; }
};

struct Figure {
  std::string name;
  // Of the value; "ratio" where it is one.
  std::string unit;
  // Of both sides, where it is a ratio.
  std::string sides_unit;
  std::function<absl::StatusOr<Measurement>(const Setting& setting)> measure;
};

// Measures in a child process, which is killed after `limit`. Errors: those of the measurement;
// kDeadlineExceeded; kInternal where the child ends without an answer. The caller has one thread.
absl::StatusOr<Measurement> MeasureInChild(const Figure& figure, const Setting& setting,
                                           absl::Duration limit);

}  // namespace acceld::bench
