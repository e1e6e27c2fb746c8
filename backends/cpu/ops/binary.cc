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
ACCELD_MULTIVERSION void Apply(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = kFunction(a[i], b[i]);
}

// The same past the caches, of elements that begin a line.
template <float (*kFunction)(float, float)>
ACCELD_MULTIVERSION void StreamBlocks(const float* a, const float* b, float* c,
                                      std::int64_t blocks) {
  for (std::int64_t i = 0; i < blocks * kStreamedBlock; i += kStreamedBlock) {
    alignas(64) float block[kStreamedBlock];
    for (std::int64_t j = 0; j < kStreamedBlock; ++j) block[j] = kFunction(a[i + j], b[i + j]);
    StreamBlock(block, c + i);
  }
  FinishStreaming();
}

template <float (*kFunction)(float, float)>
void ApplyTo(const float* a, const float* b, float* c, std::int64_t n, bool streamed) {
  if (!streamed) return Apply<kFunction>(a, b, c, n);
  const std::int64_t head = ElementsToLine(c, n);
  const std::int64_t blocks = (n - head) / kStreamedBlock;
  const std::int64_t tail = head + blocks * kStreamedBlock;
  Apply<kFunction>(a, b, c, head);
  StreamBlocks<kFunction>(a + head, b + head, c + head, blocks);
  Apply<kFunction>(a + tail, b + tail, c + tail, n - tail);
}

using Loop = void (*)(const float* a, const float* b, float* c, std::int64_t n, bool streamed);

Loop LoopFor(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return ApplyTo<Add>;
    case BinaryOp::kSub:
      return ApplyTo<Sub>;
    case BinaryOp::kMul:
      return ApplyTo<Mul>;
    case BinaryOp::kDiv:
      return ApplyTo<Div>;
    case BinaryOp::kMax:
      return ApplyTo<Max<float>>;
    case BinaryOp::kMin:
      break;
  }
  return ApplyTo<Min<float>>;
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
