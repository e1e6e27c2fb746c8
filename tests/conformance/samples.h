// One small valid op of each kind, for the tests that hold for every op.
#pragma once

#include <cstddef>

#include "backends/ops/op.h"

namespace acceld::conformance {

// The op at `index` in Op with parameters set, all operands of more than one element without gaps,
// and no addresses. An op without a sample does not compile.
Op SampleOp(std::size_t index);

}  // namespace acceld::conformance
