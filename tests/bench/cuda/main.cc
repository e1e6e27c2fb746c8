// Measures acceld on a card: each figure in turn, one line each. tests/gpu/run calls it.

#include <string>
#include <vector>

#include "tests/bench/cuda/figures.h"
#include "tests/bench/harness/program.h"

namespace acceld::bench {
namespace {

constexpr char kHelp[] =
    "bench [--json FILE] [--filter REGEX] [--quick] [--total_limit TIME]\n"
    "Measures acceld on CUDA's card 0, against direct calls. From the folder that it runs in, the\n"
    "plugin is backends/cuda/libacceld_cuda.so, and the daemon server/acceld. The flags are those\n"
    "that tests/bench/run --help describes, and how long it may take, such as 165s.\n";

// tests/gpu/run says how much it has.
constexpr absl::Duration kTotalLimit = absl::Seconds(165);
constexpr absl::Duration kFigureLimit = absl::Seconds(30);

std::vector<Figure> AllFigures() {
  std::vector<Figure> all;
  for (const auto& group : {CardLaunchFigures(), CardGemmFigures(), CardBandwidthFigures(),
                            CardAttentionFigures(), CardConvolutionFigures(), CardCopyFigures()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace
}  // namespace acceld::bench

int main(int argc, char** argv) {
  return acceld::bench::RunProgram({.help = acceld::bench::kHelp,
                                    .total_limit = acceld::bench::kTotalLimit,
                                    .figure_limit = acceld::bench::kFigureLimit,
                                    .rests = false},
                                   acceld::bench::AllFigures(), {argv + 1, argv + argc});
}
