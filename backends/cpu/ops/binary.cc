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
constexpr std::int64_t kElementsPerThread = 16 * 1024;

ACCELD_INLINE float Add(float a, float b) { return a + b; }
ACCELD_INLINE float Sub(float a, float b) { return a - b; }
ACCELD_INLINE float Mul(float a, float b) { return a * b; }
ACCELD_INLINE float Div(float a, float b) { return a / b; }

template <float (*kFunction)(float, float)>
void Apply(const float* a, const float* b, float* c, std::int64_t n, bool streamed) {
  WriteElements(
      c, n, streamed, [=](std::int64_t i) ACCELD_INLINE_LAMBDA { return kFunction(a[i], b[i]); },
      [=](std::int64_t i) ACCELD_INLINE_LAMBDA {
        FetchAhead(a + i);
        FetchAhead(b + i);
      });
  FinishStreaming();
}

using Loop = void (*)(const float* a, const float* b, float* c, std::int64_t n, bool streamed);

Loop LoopFor(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return Apply<Add>;
    case BinaryOp::kSub:
      return Apply<Sub>;
    case BinaryOp::kMul:
      return Apply<Mul>;
    case BinaryOp::kDiv:
      return Apply<Div>;
    case BinaryOp::kMax:
      return Apply<Max<float>>;
    case BinaryOp::kMin:
      break;
  }
  return Apply<Min<float>>;
}

}  // namespace

absl::Status Run(const ops::Binary& op, CpuContext& context) {
  const Loop loop = LoopFor(op.op);
  const float* a = Pointer<const float>(op.a);
  const float* b = Pointer<const float>(op.b);
  float* output = Pointer<float>(op.output);
  const bool streamed = IsStreamed(op.n) && a != output && b != output;
  ParallelFor(context.threads(), op.n, kElementsPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                loop(a + begin, b + begin, output + begin, end - begin, streamed);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
