// Whether an odd shape is much slower than a friendly one: the time for as much work, at two
// threads. A figure is the worst of its op's shapes; the table of all of them goes to stderr.

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "tests/bench/cpu/in_process.h"
#include "tests/bench/cpu/odd_shapes.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/clock.h"

namespace acceld::bench {
namespace {

constexpr int kThreads = 2;
constexpr int kRounds = 5;
// Of one side of a round.
constexpr double kRoundUs = 1500;

// Gives each operand memory of its own, filled with random numbers.
absl::Status AllocateOperands(InProcess& device, Op& op) {
  for (const Operand& operand : OperandsOf(op)) {
    const auto bytes = static_cast<std::int64_t>(operand.ExtentBytes());
    ACCELD_ASSIGN_OR_RETURN(
        *operand.address, device.Upload(RandomArray<float>(std::max<std::int64_t>(1, bytes / 4))));
  }
  return absl::OkStatus();
}

absl::Status FreeOperands(InProcess& device, Op& op) {
  for (const Operand& operand : OperandsOf(op)) {
    ACCELD_RETURN_IF_ERROR(device.backend().Free(*operand.address));
  }
  return absl::OkStatus();
}

// Runs an op as often as takes about kRoundUs.
class Repeated {
 public:
  static absl::StatusOr<Repeated> Create(const Setting& setting, InProcess& device, const Op& op) {
    Repeated repeated(device, op);
    ACCELD_RETURN_IF_ERROR(repeated.Microseconds().status());
    if (setting.quick) return repeated;
    ACCELD_ASSIGN_OR_RETURN(const double us, repeated.Microseconds());
    repeated.repeats_ = std::clamp(static_cast<int>(kRoundUs / us), 1, 1000);
    return repeated;
  }

  // A call.
  absl::StatusOr<double> Microseconds() const {
    // Copies of an op's indices are not its work.
    std::vector<Op> ops(static_cast<std::size_t>(repeats_), op_);
    ACCELD_ASSIGN_OR_RETURN(const double seconds, Seconds([this, &ops] {
                              for (Op& op : ops) {
                                ACCELD_RETURN_IF_ERROR(device_->backend().Run(std::move(op)));
                              }
                              return device_->backend().Synchronize();
                            }));
    return seconds * 1e6 / repeats_;
  }

 private:
  Repeated(InProcess& device, const Op& op) : device_(&device), op_(op) {}

  InProcess* device_;
  Op op_;
  int repeats_ = 1;
};

absl::StatusOr<Measurement> WorstShape(const Setting& setting, const ShapedOps& shapes) {
  ACCELD_ASSIGN_OR_RETURN(const auto device, InProcess::Create(kThreads));
  Op friendly = shapes.ops.front().op;
  ACCELD_RETURN_IF_ERROR(AllocateOperands(*device, friendly));
  ACCELD_ASSIGN_OR_RETURN(const Repeated on_friendly, Repeated::Create(setting, *device, friendly));
  Measurement worst;
  for (std::size_t i = 1; i < shapes.ops.size(); ++i) {
    Op odd = shapes.ops[i].op;
    ACCELD_RETURN_IF_ERROR(AllocateOperands(*device, odd));
    ACCELD_ASSIGN_OR_RETURN(const Repeated on_odd, Repeated::Create(setting, *device, odd));
    const double part = WorkOf(odd) / WorkOf(friendly);
    ACCELD_ASSIGN_OR_RETURN(const Measurement measured,
                            MeasurePairs(
                                setting.Rounds(kRounds),
                                [&]() -> absl::StatusOr<double> {
                                  ACCELD_ASSIGN_OR_RETURN(const double us, on_odd.Microseconds());
                                  return us / part;
                                },
                                [&] { return on_friendly.Microseconds(); }));
    fmt::print(stderr, "  {:16} {:44} {:8.2f}\n", shapes.name, shapes.ops[i].shape, measured.value);
    if (measured.value > worst.value) worst = measured;
    ACCELD_RETURN_IF_ERROR(FreeOperands(*device, odd));
  }
  return worst;
}

}  // namespace

std::vector<Figure> ShapeCliffFigures() {
  std::vector<Figure> figures;
  for (const ShapedOps& shapes : OddShapes()) {
    figures.push_back({"shape_cliffs_" + shapes.name, "ratio", "us",
                       [shapes](const Setting& setting) { return WorstShape(setting, shapes); }});
  }
  return figures;
}

}  // namespace acceld::bench
