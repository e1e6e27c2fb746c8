// Ops that the memory's bandwidth limits, against the fastest loop that reads and writes as much:
// over arrays of the same size, as warm and in the same kind of pages, split over as many threads.

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "backends/core/status.h"
#include "tests/bench/baseline/memory_loops.h"
#include "tests/bench/cpu/in_process.h"
#include "tests/bench/figures.h"

namespace acceld::bench {
namespace {

// A square matrix, whose elements are 16 M, 64 MiB: twice what the caches here hold.
std::int64_t Side(const Setting& setting) { return setting.quick ? 256 : 4096; }
std::int64_t Count(const Setting& setting) { return Side(setting) * Side(setting); }

// What of the memory an op is measured against.
enum class Minimum { kCopy, kAdd, kRead };

// Arrays on the host for the direct loops and on the device for the op.
struct Arrays {
  explicit Arrays(std::int64_t count)
      : a(RandomArray<float>(count)), b(RandomArray<float>(count)), output(count) {}

  HostArray<float> a;
  HostArray<float> b;
  HostArray<float> output;
};

std::vector<Call> DirectCalls(Arrays& arrays, Minimum minimum, int threads) {
  const float* a = arrays.a.data();
  const float* b = arrays.b.data();
  float* output = arrays.output.data();
  const std::int64_t count = arrays.a.size();
  const auto call = [](auto loop) {
    return [loop] {
      loop();
      return absl::OkStatus();
    };
  };
  switch (minimum) {
    case Minimum::kCopy:
      return {call([=] { Copy(a, output, count, threads); }),
              call([=] { CopyStreaming(a, output, count, threads); })};
    case Minimum::kAdd:
      return {call([=] { Add(a, b, output, count, threads); }),
              call([=] { AddStreaming(a, b, output, count, threads); })};
    case Minimum::kRead:
      break;
  }
  return {call([=] { *output = Sum(a, count, threads); }),
          call([=] { *output = SumOfHalves(a, count, threads); })};
}

// What an op works on, in the device's memory: two inputs and an output of Count elements.
struct Operands {
  Address a;
  Address b;
  Address output;
};

using MakeOp = std::function<Op(const Operands& operands, const Setting& setting)>;

std::vector<Figure> Against(const std::string& name, Minimum minimum, MakeOp make_op) {
  return AtOneAndTwoThreads(
      name, [minimum, make_op](const Setting& setting, int threads) -> absl::StatusOr<Measurement> {
        ACCELD_ASSIGN_OR_RETURN(const auto device, InProcess::Create(threads));
        Arrays arrays(Count(setting));
        Operands operands{};
        ACCELD_ASSIGN_OR_RETURN(operands.a, device->Upload(arrays.a));
        ACCELD_ASSIGN_OR_RETURN(operands.b, device->Upload(arrays.b));
        ACCELD_ASSIGN_OR_RETURN(operands.output, device->Upload(arrays.output));
        const Op op = make_op(operands, setting);
        return MeasureAgainst(
            setting, threads, *device, [&] { return device->backend().Run(op); },
            DirectCalls(arrays, minimum, threads));
      });
}

MakeOp UnaryOf(UnaryOp op) {
  return [op](const Operands& operands, const Setting& setting) -> Op {
    return ops::Unary{
        .op = op, .n = Count(setting), .input = operands.a, .output = operands.output};
  };
}

Op AddOf(const Operands& operands, const Setting& setting) {
  return ops::Binary{.op = BinaryOp::kAdd,
                     .n = Count(setting),
                     .a = operands.a,
                     .b = operands.b,
                     .output = operands.output};
}

Op SoftmaxOf(const Operands& operands, const Setting& setting) {
  return ops::Softmax{.shape = {Side(setting), Side(setting)},
                      .axis = 1,
                      .input = operands.a,
                      .output = operands.output};
}

Op SumOf(const Operands& operands, const Setting& setting) {
  return ops::Reduce{
      .shape = {Count(setting)}, .axis = 0, .input = operands.a, .output = operands.output};
}

Op ColumnSumOf(const Operands& operands, const Setting& setting) {
  return ops::Reduce{.shape = {Side(setting), Side(setting)},
                     .axis = 0,
                     .input = operands.a,
                     .output = operands.output};
}

// As many rows of 256 columns as the table has, 65,536 of them; uniformly chosen, so that each is
// taken once on average, and in random or in ascending order.
MakeOp GatherOf(bool sorted) {
  return [sorted](const Operands& operands, const Setting& setting) -> Op {
    const std::int64_t columns = 256;
    const std::int64_t rows = Count(setting) / columns;
    ops::Gather op{.rows = rows,
                   .columns = columns,
                   .indices = std::vector<std::int64_t>(static_cast<std::size_t>(rows)),
                   .table = operands.a,
                   .output = operands.output};
    std::minstd_rand random(1);
    for (std::int64_t& index : op.indices) index = static_cast<std::int64_t>(random()) % rows;
    if (sorted) std::sort(op.indices.begin(), op.indices.end());
    return op;
  };
}

}  // namespace

std::vector<Figure> BandwidthFigures() {
  std::vector<Figure> all;
  for (std::vector<Figure> figures : {
           Against("softmax_4096x4096_vs_memcpy", Minimum::kCopy, SoftmaxOf),
           Against("unary_exp_16M_vs_memcpy", Minimum::kCopy, UnaryOf(UnaryOp::kExp)),
           Against("unary_relu_16M_vs_memcpy", Minimum::kCopy, UnaryOf(UnaryOp::kRelu)),
           Against("binary_add_16M_vs_triad", Minimum::kAdd, AddOf),
           Against("reduce_sum_16M_vs_read", Minimum::kRead, SumOf),
           Against("reduce_sum_cols_4096x4096_vs_read", Minimum::kRead, ColumnSumOf),
           Against("gather_256cols_sorted_vs_memcpy", Minimum::kCopy, GatherOf(true)),
           Against("gather_256cols_random_vs_memcpy", Minimum::kCopy, GatherOf(false)),
       }) {
    std::move(figures.begin(), figures.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace acceld::bench
