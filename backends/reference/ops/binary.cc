#include <cmath>
#include <cstdint>

#include "backends/reference/ops/extremes.h"
#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {
namespace {

// In float: one IEEE 754 operation is rounded once.
float Apply(BinaryOp op, float a, float b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kMax:
      return Larger(a, b);
    case BinaryOp::kMin:
      return Smaller(a, b);
  }
  return NAN;
}

}  // namespace

void Run(const ops::Binary& op) {
  const float* a = Pointer<const float>(op.a);
  const float* b = Pointer<const float>(op.b);
  float* output = Pointer<float>(op.output);
  for (std::int64_t i = 0; i < op.n; ++i) output[i] = Apply(op.op, a[i], b[i]);
}

}  // namespace acceld::reference
