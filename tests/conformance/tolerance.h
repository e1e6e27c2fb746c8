// How far a device's numbers may be from the reference's.
#pragma once

#include "backends/ops/op.h"

namespace acceld::conformance {

// A result may differ by `relative` times its scale, which is at least `floor`. The scale is the
// largest reference value of the output, since the error of a sum goes with its terms, or, where
// `per_element`, the element's own reference value. NaN matches NaN only; an infinity, itself only.
struct Tolerance {
  double relative = 0;
  double floor = 1;
  bool per_element = false;
};

inline constexpr Tolerance kExact{};

// For inputs of about 1, and sums of at most some ten thousand terms.
Tolerance ToleranceOf(const Op& op);

// Whether `value` may stand for `expected`, in an output whose largest finite reference value is
// `largest`.
bool IsNear(double value, double expected, double largest, const Tolerance& tolerance);

}  // namespace acceld::conformance
