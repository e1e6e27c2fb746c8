#include "tests/bench/baseline/memory_loops.h"

#include <xmmintrin.h>

#include <atomic>
#include <cstring>

#include "backends/cpu/multiversion.h"
#include "backends/cpu/parallel.h"
#include "backends/memory/streaming_copy.h"

namespace acceld::bench {
namespace {

constexpr std::int64_t kGrain = 1024;

// Calls body(begin, end) on each thread; ranges begin at multiples of kGrain elements.
template <typename Body>
void Split(std::int64_t count, int threads, Body body) {
  ParallelFor(threads, count / kGrain, /*grain=*/1,
              [=](std::int64_t begin, std::int64_t end) { body(begin * kGrain, end * kGrain); });
}

ACCELD_MULTIVERSION void AddRange(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void AddRangeStreaming(const float* a, const float* b, float* c, std::int64_t n) {
  constexpr std::int64_t kLine = 16;
  for (std::int64_t i = 0; i < n; i += kLine) {
    __m128 sums[kLine / 4];
    for (std::int64_t j = 0; j < kLine; j += 4) {
      sums[j / 4] = _mm_add_ps(_mm_loadu_ps(a + i + j), _mm_loadu_ps(b + i + j));
    }
    for (std::int64_t j = 0; j < kLine; j += 4) _mm_stream_ps(c + i + j, sums[j / 4]);
  }
  _mm_sfence();
}

// Of as many vectors as hide the latency of an addition.
constexpr std::int64_t kLanes = 128;

float SumLanes(const float* lanes) {
  float sum = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  return sum;
}

ACCELD_MULTIVERSION float SumRange(const float* x, std::int64_t n) {
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
  }
  return SumLanes(lanes);
}

ACCELD_MULTIVERSION float SumRangeOfHalves(const float* x, std::int64_t n) {
  constexpr std::int64_t kHalf = kLanes / 2;
  const float* y = x + n / 2;
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < n / 2; i += kHalf) {
    for (std::int64_t lane = 0; lane < kHalf; ++lane) lanes[lane] += x[i + lane];
    for (std::int64_t lane = 0; lane < kHalf; ++lane) lanes[kHalf + lane] += y[i + lane];
  }
  return SumLanes(lanes);
}

float SumBy(float (*range)(const float*, std::int64_t), const float* x, std::int64_t count,
            int threads) {
  std::atomic<float> sum = 0;
  Split(count, threads, [x, range, &sum](std::int64_t begin, std::int64_t end) {
    sum.fetch_add(range(x + begin, end - begin));
  });
  return sum;
}

}  // namespace

void Copy(const float* x, float* y, std::int64_t count, int threads) {
  Split(count, threads, [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(y + begin, x + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
  });
}

void CopyStreaming(const float* x, float* y, std::int64_t count, int threads) {
  Split(count, threads, [=](std::int64_t begin, std::int64_t end) {
    StreamingCopy(reinterpret_cast<std::byte*>(y + begin),
                  reinterpret_cast<const std::byte*>(x + begin),
                  static_cast<std::uint64_t>(end - begin) * sizeof(float));
  });
}

void Add(const float* a, const float* b, float* c, std::int64_t count, int threads) {
  Split(count, threads, [=](std::int64_t begin, std::int64_t end) {
    AddRange(a + begin, b + begin, c + begin, end - begin);
  });
}

void AddStreaming(const float* a, const float* b, float* c, std::int64_t count, int threads) {
  Split(count, threads, [=](std::int64_t begin, std::int64_t end) {
    AddRangeStreaming(a + begin, b + begin, c + begin, end - begin);
  });
}

float Sum(const float* x, std::int64_t count, int threads) {
  return SumBy(SumRange, x, count, threads);
}

float SumOfHalves(const float* x, std::int64_t count, int threads) {
  return SumBy(SumRangeOfHalves, x, count, threads);
}

}  // namespace acceld::bench
