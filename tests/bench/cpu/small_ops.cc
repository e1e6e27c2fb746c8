// What one small op costs in process, beside nothing else.

#include "backends/core/status.h"
#include "tests/bench/cpu/in_process.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/clock.h"

namespace acceld::bench {
namespace {

constexpr std::int64_t kElements = 64;
constexpr int kOps = 1000;

// 1,000 unary ops on 64 elements on one stream, then Synchronize, divided by 1,000.
absl::StatusOr<Measurement> SmallOp(const Setting& setting, int threads) {
  ACCELD_ASSIGN_OR_RETURN(const auto device, InProcess::Create(threads));
  ComputeBackend& backend = device->backend();
  ACCELD_ASSIGN_OR_RETURN(const Address array, device->Upload(RandomArray<float>(kElements)));
  const ops::Unary op = {.op = UnaryOp::kRelu, .n = kElements, .input = array, .output = array};
  return MeasureRounds(setting.Rounds(101), [&]() -> absl::StatusOr<double> {
    ACCELD_ASSIGN_OR_RETURN(const double seconds, Seconds([&] {
                              for (int i = 0; i < kOps; ++i) {
                                ACCELD_RETURN_IF_ERROR(backend.Unary(op));
                              }
                              return backend.Synchronize();
                            }));
    return seconds * 1e6 / kOps;
  });
}

}  // namespace

std::vector<Figure> SmallOpFigures() {
  std::vector<Figure> figures = AtOneAndTwoThreads("small_op_us", SmallOp);
  for (Figure& figure : figures) figure.unit = "us";
  return figures;
}

}  // namespace acceld::bench
