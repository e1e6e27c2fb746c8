#include "tests/conformance/tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace acceld::conformance {
namespace {

constexpr Tolerance kF32Sum{.relative = 1e-5};
constexpr Tolerance kF64Sum{.relative = 1e-13};
constexpr Tolerance kF32Function{
    .relative = 4e-6, .floor = std::numeric_limits<float>::min(), .per_element = true};

// A sum of many products of about 1 may come out near 0, but on its way was as large as the square
// root of their number, and its rounding errors are those of that.
Tolerance OfSum(Tolerance tolerance, std::int64_t products) {
  constexpr double kDeviation = 0.25;
  tolerance.floor = std::max(1.0, kDeviation * std::sqrt(static_cast<double>(products)));
  return tolerance;
}

Tolerance OfProduct(DataType type, std::int64_t k) {
  return OfSum(type == DataType::kF64 ? kF64Sum : kF32Sum, k);
}

// One overload an op: an op without one does not compile.
Tolerance Of(const ops::Gemm& op) { return OfProduct(op.type, op.k); }
Tolerance Of(const ops::BatchedGemm& op) { return OfProduct(op.type, op.k); }
Tolerance Of(const ops::GemmMixedPrecision& op) { return OfSum(kF32Sum, op.k); }
Tolerance Of(const ops::Conv2dForward&) { return kF32Sum; }
Tolerance Of(const ops::Conv2dBackwardData&) { return kF32Sum; }
Tolerance Of(const ops::Conv2dBackwardFilter&) { return kF32Sum; }
Tolerance Of(const ops::Attention&) { return kF32Sum; }
Tolerance Of(const ops::Reduce& op) {
  return op.op == ReduceOp::kMax || op.op == ReduceOp::kMin ? kExact : kF32Sum;
}
Tolerance Of(const ops::Softmax&) {
  return {.relative = 1e-5, .floor = 1e-30, .per_element = true};
}
Tolerance Of(const ops::Unary& op) {
  switch (op.op) {
    case UnaryOp::kRelu:
    case UnaryOp::kAbs:
    case UnaryOp::kNeg:
    case UnaryOp::kSqrt:
      return kExact;  // IEEE 754 requires the nearest value.
    default:
      return kF32Function;
  }
}
Tolerance Of(const ops::Binary&) { return kExact; }
Tolerance Of(const ops::Gather&) { return kExact; }
Tolerance Of(const ops::Scatter&) { return kExact; }
Tolerance Of(const ops::Memset&) { return kExact; }
Tolerance Of(const ops::CopyDtoD&) { return kExact; }

}  // namespace

Tolerance ToleranceOf(const Op& op) {
  return std::visit([](const auto& typed) { return Of(typed); }, op);
}

bool IsNear(double value, double expected, double largest, const Tolerance& tolerance) {
  if (std::isnan(expected)) return std::isnan(value);
  if (value == expected) return true;
  if (!std::isfinite(value) || !std::isfinite(expected)) return false;
  const double scale =
      std::max(tolerance.floor, tolerance.per_element ? std::abs(expected) : largest);
  return std::abs(value - expected) <= tolerance.relative * scale;
}

}  // namespace acceld::conformance
