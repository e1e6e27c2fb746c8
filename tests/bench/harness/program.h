// The program around the figures: its flags, and a line for each figure.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/harness/figure.h"

namespace acceld::bench {

struct Program {
  // What --help prints.
  std::string help;
  // Of all figures together; those that do not come to their turn are not measured.
  absl::Duration total_limit = absl::Minutes(6);
  // Of each. Several times what any figure takes.
  absl::Duration figure_limit = absl::Seconds(40);
  // Whether the cores rest between figures, so that none is busy for long: a virtual one may then
  // be slowed down.
  bool rests = true;
};

// Measures those of `figures` that the flags in `arguments`, which are without the program's name,
// choose: --json FILE, --filter REGEX and --quick, as tests/bench/run --help describes them, and
// --total_limit, such as 150s, instead of the program's. Returns the exit status.
int RunProgram(const Program& program, const std::vector<Figure>& figures,
               const std::vector<std::string>& arguments);

}  // namespace acceld::bench
