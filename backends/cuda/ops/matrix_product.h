// The product of matrices, which the gemm ops share.
#pragma once

#include "absl/status/status.h"
#include "backends/core/values.h"
#include "backends/cuda/context.h"

namespace acceld::cuda {

inline bool IsTransposed(Transpose transpose) { return transpose != Transpose::kNone; }

// `call`, of f32 or f64, by the library; where there is nothing to multiply, C = beta C by a
// kernel.
absl::Status Multiply(const GemmCall& call, CudaContext& context);

}  // namespace acceld::cuda
