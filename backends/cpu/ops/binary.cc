#include <cstdint>

#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 16 * 1024;

ACCELD_MULTIVERSION void Add(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

ACCELD_MULTIVERSION void Sub(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] - b[i];
}

ACCELD_MULTIVERSION void Mul(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] * b[i];
}

ACCELD_MULTIVERSION void Div(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] / b[i];
}

ACCELD_MULTIVERSION void MaxOf(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = Max(a[i], b[i]);
}

ACCELD_MULTIVERSION void MinOf(const float* a, const float* b, float* c, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) c[i] = Min(a[i], b[i]);
}

using Loop = void (*)(const float* a, const float* b, float* c, std::int64_t n);

Loop LoopFor(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return Add;
    case BinaryOp::kSub:
      return Sub;
    case BinaryOp::kMul:
      return Mul;
    case BinaryOp::kDiv:
      return Div;
    case BinaryOp::kMax:
      return MaxOf;
    case BinaryOp::kMin:
      return MinOf;
  }
  return Add;
}

}  // namespace

absl::Status Run(const ops::Binary& op, CpuContext& context) {
  const Loop loop = LoopFor(op.op);
  const float* a = Pointer<const float>(op.a);
  const float* b = Pointer<const float>(op.b);
  float* output = Pointer<float>(op.output);
  ParallelFor(context.threads(), op.n, kElementsPerThread,
              [=](std::int64_t begin, std::int64_t end) {
                loop(a + begin, b + begin, output + begin, end - begin);
              });
  return absl::OkStatus();
}

}  // namespace acceld::cpu
