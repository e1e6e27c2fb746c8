#include "backends/cpu/ops/fold.h"

#include <limits>

#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"

namespace acceld::cpu {
namespace {

// Independent partial results, so that the loop is vectorized and does not wait for each addition.
constexpr std::int64_t kLanes = 32;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

ACCELD_MULTIVERSION double Sum(const float* x, std::int64_t n) {
  double lanes[kLanes];
  for (double& lane : lanes) lane = -0.0;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    // Conversions leave the processor too little room to look ahead for itself.
    for (std::int64_t line = 0; line < kLanes; line += kLine) FetchAhead(x + i + line);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<double>(x[i + lane]);
    }
  }
  for (; i < n; ++i) lanes[i % kLanes] += static_cast<double>(x[i]);
  double sum = -0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

ACCELD_MULTIVERSION float Largest(const float* x, std::int64_t n) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = kNaN;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = Max(lanes[lane], x[i + lane]);
    }
  }
  for (; i < n; ++i) lanes[i % kLanes] = Max(lanes[i % kLanes], x[i]);
  float largest = kNaN;
  for (const float lane : lanes) largest = Max(largest, lane);
  return largest;
}

ACCELD_MULTIVERSION float Smallest(const float* x, std::int64_t n) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = kNaN;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = Min(lanes[lane], x[i + lane]);
    }
  }
  for (; i < n; ++i) lanes[i % kLanes] = Min(lanes[i % kLanes], x[i]);
  float smallest = kNaN;
  for (const float lane : lanes) smallest = Min(smallest, lane);
  return smallest;
}

}  // namespace acceld::cpu
