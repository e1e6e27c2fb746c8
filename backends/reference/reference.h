// The naive reference: every op as plain loops, written to be obviously right and not to be fast.
// It shares no code with any device; tests, the conformance suite and `accelctl selftest` compare
// devices with it.
//
// The addresses of an op are pointers into the host's memory. The op has passed its checks.
//
// f32 ops accumulate in double and round once at the end; f64 products accumulate in long double.
// GemmMixedPrecision rounds its factors and accumulates in float, in the order of k.
#pragma once

#include "backends/ops/op.h"

namespace acceld::reference {

// Runs any op; an op whose output is empty does nothing.
void Run(const Op& op);

void Run(const ops::Gemm& op);
void Run(const ops::GemmMixedPrecision& op);
void Run(const ops::BatchedGemm& op);
void Run(const ops::Conv2dForward& op);
void Run(const ops::Conv2dBackwardData& op);
void Run(const ops::Conv2dBackwardFilter& op);
void Run(const ops::Attention& op);
void Run(const ops::Reduce& op);
void Run(const ops::Softmax& op);
void Run(const ops::Unary& op);
void Run(const ops::Binary& op);
void Run(const ops::Gather& op);
void Run(const ops::Scatter& op);
void Run(const ops::Memset& op);
void Run(const ops::CopyDtoD& op);

}  // namespace acceld::reference
