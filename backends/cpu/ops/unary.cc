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
ACCELD_MULTIVERSION void Apply(const float* x, float* y, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) y[i] = kFunction(x[i]);
}

// The same past the caches, of elements that begin a line.
template <float (*kFunction)(float)>
ACCELD_MULTIVERSION void StreamBlocks(const float* x, float* y, std::int64_t blocks) {
  for (std::int64_t i = 0; i < blocks * kStreamedBlock; i += kStreamedBlock) {
    alignas(64) float block[kStreamedBlock];
    for (std::int64_t j = 0; j < kStreamedBlock; ++j) block[j] = kFunction(x[i + j]);
    StreamBlock(block, y + i);
  }
  FinishStreaming();
}

template <float (*kFunction)(float)>
void ApplyTo(const float* x, float* y, std::int64_t n, bool streamed) {
  if (!streamed) return Apply<kFunction>(x, y, n);
  const std::int64_t head = ElementsToLine(y, n);
  const std::int64_t blocks = (n - head) / kStreamedBlock;
  const std::int64_t tail = head + blocks * kStreamedBlock;
  Apply<kFunction>(x, y, head);
  StreamBlocks<kFunction>(x + head, y + head, blocks);
  Apply<kFunction>(x + tail, y + tail, n - tail);
}

using Loop = void (*)(const float* x, float* y, std::int64_t n, bool streamed);

Loop LoopFor(UnaryOp op) {
  switch (op) {
    case UnaryOp::kRelu:
      return ApplyTo<Relu>;
    case UnaryOp::kSigmoid:
      return ApplyTo<Sigmoid>;
    case UnaryOp::kTanh:
      return ApplyTo<Tanh>;
    case UnaryOp::kExp:
      return ApplyTo<Exp>;
    case UnaryOp::kLog:
      return ApplyTo<Log>;
    case UnaryOp::kSqrt:
      return ApplyTo<Sqrt>;
    case UnaryOp::kAbs:
      return ApplyTo<Abs>;
    case UnaryOp::kNeg:
      break;
  }
  return ApplyTo<Neg>;
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
