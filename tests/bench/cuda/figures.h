// The figures of a card, by group. Those whose names end in _vs_SOMETHING are rates over those of
// direct calls, so that more is better; the others are times.
#pragma once

#include <vector>

#include "tests/bench/harness/figure.h"

namespace acceld::bench {

std::vector<Figure> CardGemmFigures();
std::vector<Figure> CardConvolutionFigures();
std::vector<Figure> CardBandwidthFigures();
std::vector<Figure> CardAttentionFigures();
std::vector<Figure> CardCopyFigures();
std::vector<Figure> CardLaunchFigures();

}  // namespace acceld::bench
