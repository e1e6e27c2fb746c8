// Runs every op on a device and compares the results with the naive reference's.
//
// An error is the largest difference between a result and the reference's, divided by the largest
// reference value where that is above 1, since the error of a sum goes with its terms. It is
// infinite where only one of the two is a number, or they are different infinities.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/compute_backend.h"
#include "client/accelctl/selftest_cases.h"

namespace acceld::accelctl {

enum class Outcome : std::uint8_t {
  kOk = 1,
  // The error is beyond the tolerance.
  kWrong = 2,
  // The backend reported an error.
  kFailed = 3,
  // The device does not have the op, which is no fault.
  kUnsupported = 4,
};

struct SelftestResult {
  std::string op;
  std::string name;
  double tolerance = 0;
  Outcome outcome = Outcome::kFailed;
  // Where there were results to compare.
  std::optional<double> max_error{};
  // Why it failed or is unsupported.
  std::string message{};
};

SelftestResult RunCase(ComputeBackend& backend, const SelftestCase& test);

// Whether nothing is wrong, in a sentence that counts what is. A device on which nothing can be run
// does not pass.
absl::Status Verdict(const std::vector<SelftestResult>& results);

}  // namespace acceld::accelctl

namespace acceld {

template <>
struct EnumTable<accelctl::Outcome> {
  static constexpr std::array<EnumEntry<accelctl::Outcome>, 4> kEntries{{
      {accelctl::Outcome::kOk, "ok"},
      {accelctl::Outcome::kWrong, "wrong"},
      {accelctl::Outcome::kFailed, "failed"},
      {accelctl::Outcome::kUnsupported, "unsupported"},
  }};
};

}  // namespace acceld
