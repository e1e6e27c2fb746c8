// What CUB, cuBLAS and cuDNN compute, by a loop, OpenBLAS and the reference; addresses are pointers
// into the host's memory.
#pragma once

#include "backends/cuda/driver.h"
#include "backends/cuda/kernels/reduce_rows.h"

namespace acceld {

void FakeReduction(const cuda::ReductionCall& call);
void FakeGemm(const cuda::GemmCall& call);
void FakeConvolution(const cuda::ConvolutionKey& key, const cuda::ConvolutionCall& call);

// Elements from the first one to the last of a column-major [rows, columns] matrix, or of a batch.
std::uint64_t MatrixElements(std::int64_t rows, std::int64_t columns, std::int64_t ld,
                             std::int64_t stride, std::int64_t batch);

}  // namespace acceld
