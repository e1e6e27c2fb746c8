// What the selftest runs.
#pragma once

#include <string>
#include <vector>

#include "backends/ops/op.h"

namespace acceld::accelctl {

struct SelftestCase {
  // The op's parameters, for people.
  std::string name;
  // Without addresses.
  Op op;
  // The largest error that is right (selftest.h has its definition).
  double tolerance = 0;
  // The range of the random inputs.
  double low = -1;
  double high = 1;
};

// At least one case for every op there is, in the order of Op: an op without one does not compile.
std::vector<SelftestCase> SelftestCases();

}  // namespace acceld::accelctl
