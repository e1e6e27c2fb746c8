// Measures how fast acceld is: each figure in turn, one line each.

#include <string>
#include <vector>

#include "backends/cpu/library_setup.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/program.h"

namespace acceld::bench {
namespace {

constexpr char kHelp[] =
    "bench [--json FILE] [--filter REGEX] [--quick]\n"
    "tests/bench/run builds and runs it; its --help describes the flags.\n";

std::vector<Figure> AllFigures() {
  std::vector<Figure> all;
  for (const auto& group :
       {RoundTripFigures(), ThroughputFigures(), CopyFigures(), WorkFigures(), ProgramFigures(),
        IdleFigures(), SmallOpFigures(), GemmFigures(), BandwidthFigures(), AttentionFigures(),
        ShapeCliffFigures(), ConvolutionFigures()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace
}  // namespace acceld::bench

int main(int argc, char** argv) {
  // As in the daemon, and for what acceld is measured against.
  acceld::SetUpLibraries(/*cpu_threads=*/0, argv);
  return acceld::bench::RunProgram({.help = acceld::bench::kHelp}, acceld::bench::AllFigures(),
                                   {argv + 1, argv + argc});
}
