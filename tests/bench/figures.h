// The figures of the benchmark, by group.
#pragma once

#include <vector>

#include "tests/bench/harness/figure.h"

namespace acceld::bench {

std::vector<Figure> RoundTripFigures();
std::vector<Figure> ThroughputFigures();
std::vector<Figure> CopyFigures();
std::vector<Figure> WorkFigures();
std::vector<Figure> ProgramFigures();
std::vector<Figure> IdleFigures();
// Of the cpu device in process: tests/bench/cpu.
std::vector<Figure> SmallOpFigures();
std::vector<Figure> GemmFigures();
std::vector<Figure> BandwidthFigures();
std::vector<Figure> AttentionFigures();
std::vector<Figure> ShapeCliffFigures();
std::vector<Figure> ConvolutionFigures();

}  // namespace acceld::bench
