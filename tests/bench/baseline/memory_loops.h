// The least that ops limited by the memory's bandwidth can take: plain loops over arrays of f32,
// split over threads. Outputs are aligned to 64 bytes and counts are multiples of 1024.
#pragma once

#include <cstdint>

namespace acceld::bench {

// y = x, by memcpy and by streaming stores.
void Copy(const float* x, float* y, std::int64_t count, int threads);
void CopyStreaming(const float* x, float* y, std::int64_t count, int threads);

// c = a + b, by plain and by streaming stores.
void Add(const float* a, const float* b, float* c, std::int64_t count, int threads);
void AddStreaming(const float* a, const float* b, float* c, std::int64_t count, int threads);

// Reads and sums, in f32: in one sequence a thread, or in two that are far apart.
float Sum(const float* x, std::int64_t count, int threads);
float SumOfHalves(const float* x, std::int64_t count, int threads);

}  // namespace acceld::bench
