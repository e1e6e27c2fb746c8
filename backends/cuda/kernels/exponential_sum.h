// Sums of exponentials that do not overflow.
#pragma once

#include <cmath>

#include "backends/cuda/kernels/extremes.h"

namespace acceld::cuda {

// The largest of some numbers, and the sum of their exponentials relative to it.
struct ExponentialSum {
  float largest;
  double sum;

  static ACCELD_HOST_DEVICE ExponentialSum Empty() { return {-INFINITY, 0}; }

  // What numbers are relative to: 0 while all are minus infinity, so that infinity - infinity makes
  // no NaN of what a later number may turn to zero.
  ACCELD_HOST_DEVICE float shift() const { return largest == -INFINITY ? 0 : largest; }

  // Lets `number` be among those that `largest` is of; NaN is not.
  ACCELD_HOST_DEVICE void Raise(float number) {
    const float raised = MaxNumber(largest, number);
    if (raised == largest) return;
    sum *= std::exp(largest - raised);
    largest = raised;
  }

  ACCELD_HOST_DEVICE void Add(const ExponentialSum& other) {
    Raise(other.largest);
    sum += other.sum * std::exp(other.largest - shift());
  }
};

}  // namespace acceld::cuda
