#include <cmath>
#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 8 * 1024;

ACCELD_MULTIVERSION void Relu(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

ACCELD_MULTIVERSION void SigmoidOf(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(Sigmoid(x[i]));
}

ACCELD_MULTIVERSION void TanhOf(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(Tanh(x[i]));
}

ACCELD_MULTIVERSION void ExpOf(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(Exp(x[i]));
}

ACCELD_MULTIVERSION void LogOf(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(Log(x[i]));
}

ACCELD_MULTIVERSION void Sqrt(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = std::sqrt(x[i]);
}

ACCELD_MULTIVERSION void Abs(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = std::fabs(x[i]);
}

ACCELD_MULTIVERSION void Neg(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = -x[i];
}

using Loop = void (*)(const float* x, float* y, std::int64_t n);

Loop LoopFor(UnaryOp op) {
  switch (op) {
    case UnaryOp::kRelu:
      return Relu;
    case UnaryOp::kSigmoid:
      return SigmoidOf;
    case UnaryOp::kTanh:
      return TanhOf;
    case UnaryOp::kExp:
      return ExpOf;
    case UnaryOp::kLog:
      return LogOf;
    case UnaryOp::kSqrt:
      return Sqrt;
    case UnaryOp::kAbs:
      return Abs;
    case UnaryOp::kNeg:
      return Neg;
  }
  return Neg;
}

}  // namespace

absl::Status Run(const ops::Unary& op, CpuContext& context) {
  const Loop loop = LoopFor(op.op);
  const float* input = Pointer<const float>(op.input);
  float* output = Pointer<float>(op.output);
  ParallelFor(context.threads(), op.n, kElementsPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                loop(input + begin, output + begin, end - begin);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
