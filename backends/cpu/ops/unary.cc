#include <cmath>
#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 8 * 1024;

ACCELD_INLINE float Relu(float x) { return x > 0 ? x : 0; }
ACCELD_INLINE float Sqrt(float x) { return std::sqrt(x); }
ACCELD_INLINE float Abs(float x) { return std::fabs(x); }
ACCELD_INLINE float Neg(float x) { return -x; }

template <float (*kFunction)(float)>
void Apply(const float* x, float* y, std::int64_t n, bool streamed) {
  WriteElements(
      y, n, streamed, [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return kFunction(x[i]); },
      [=](std::int64_t i) ACCELD_INLINE_LAMBDA { FetchAhead(x + i); });
  FinishStreaming();
}

using Loop = void (*)(const float* x, float* y, std::int64_t n, bool streamed);

Loop LoopFor(UnaryOp op) {
  switch (op) {
    case UnaryOp::kRelu:
      return Apply<Relu>;
    case UnaryOp::kSigmoid:
      return Apply<Sigmoid>;
    case UnaryOp::kTanh:
      return Apply<Tanh>;
    case UnaryOp::kExp:
      return Apply<Exp>;
    case UnaryOp::kLog:
      return Apply<Log>;
    case UnaryOp::kSqrt:
      return Apply<Sqrt>;
    case UnaryOp::kAbs:
      return Apply<Abs>;
    case UnaryOp::kNeg:
      break;
  }
  return Apply<Neg>;
}

}  // namespace

absl::Status Run(const ops::Unary& op, CpuContext& context) {
  const Loop loop = LoopFor(op.op);
  const float* input = Pointer<const float>(op.input);
  float* output = Pointer<float>(op.output);
  const bool streamed = IsStreamed(op.n) && input != output;
  ParallelFor(context.threads(), op.n, kElementsPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                loop(input + begin, output + begin, end - begin, streamed);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
