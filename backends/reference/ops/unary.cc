#include <cmath>
#include <cstdint>

#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {
namespace {

double Apply(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kRelu:
      return x > 0 ? x : 0;
    case UnaryOp::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kAbs:
      return std::fabs(x);
    case UnaryOp::kNeg:
      return -x;
  }
  return NAN;
}

}  // namespace

void Run(const ops::Unary& op) {
  const float* input = Pointer<const float>(op.input);
  float* output = Pointer<float>(op.output);
  for (std::int64_t i = 0; i < op.n; ++i) output[i] = static_cast<float>(Apply(op.op, input[i]));
}

}  // namespace acceld::reference
