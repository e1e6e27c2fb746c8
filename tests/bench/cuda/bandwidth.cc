// Ops that the card's memory limits: the bandwidth at which each reads its inputs and writes its
// output once, against that of a copy on the device. Softmax down columns has to read them twice,
// since no block's memory holds as many columns as are read at once.

#include <algorithm>
#include <functional>
#include <random>

#include "backends/core/status.h"
#include "tests/bench/cuda/card.h"
#include "tests/bench/cuda/figures.h"

namespace acceld::bench {
namespace {

// Arrays of 64 M elements, 256 MiB: more than any card's cache.
std::int64_t Rows(const Setting& setting) { return setting.quick ? 64 : 16384; }
std::int64_t Columns(const Setting& setting) { return setting.quick ? 16 : 4096; }
std::int64_t Count(const Setting& setting) { return Rows(setting) * Columns(setting); }

struct Operands {
  Address a;
  Address b;
  Address output;
};

using MakeOp = std::function<Op(const Operands& operands, const Setting& setting)>;

// `arrays`: how many times Count elements the op has to read and to write.
Figure AgainstCopy(const char* name, int arrays, MakeOp make_op) {
  return {name, "ratio", "GB/s",
          [arrays, make_op](const Setting& setting) -> absl::StatusOr<Measurement> {
            const std::int64_t count = Count(setting);
            const auto bytes = static_cast<std::uint64_t>(count) * sizeof(float);
            ACCELD_ASSIGN_OR_RETURN(const Card card, Card::Open());
            ComputeBackend& backend = *card.backend;
            Direct& direct = *card.direct;
            Operands operands{};
            ACCELD_ASSIGN_OR_RETURN(operands.a, RandomArray<float>(backend, count));
            ACCELD_ASSIGN_OR_RETURN(operands.b, RandomArray<float>(backend, count));
            ACCELD_ASSIGN_OR_RETURN(operands.output, RandomArray<float>(backend, count));
            const Op op = make_op(operands, setting);
            ACCELD_ASSIGN_OR_RETURN(std::byte* const source, direct.Allocate(bytes));
            ACCELD_ASSIGN_OR_RETURN(std::byte* const target, direct.Allocate(bytes));

            const double gigabytes = static_cast<double>(bytes) * 1e-9;
            return CompareRates(
                setting, OnBackend(backend, arrays * gigabytes, [&] { return backend.Run(op); }),
                OnDirect(direct, 2 * gigabytes,
                         [&] { return direct.CopyOnDevice(target, source, bytes); }));
          }};
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

MakeOp SoftmaxOver(int axis) {
  return [axis](const Operands& operands, const Setting& setting) -> Op {
    return ops::Softmax{.shape = {Rows(setting), Columns(setting)},
                        .axis = axis,
                        .input = operands.a,
                        .output = operands.output};
  };
}

Op SumOfAll(const Operands& operands, const Setting& setting) {
  return ops::Reduce{
      .shape = {Count(setting)}, .axis = 0, .input = operands.a, .output = operands.output};
}

MakeOp SumOver(int axis) {
  return [axis](const Operands& operands, const Setting& setting) -> Op {
    return ops::Reduce{.shape = {Rows(setting), Columns(setting)},
                       .axis = axis,
                       .input = operands.a,
                       .output = operands.output};
  };
}

// Of so many columns, as many rows as make up all.
MakeOp SumOfRowsOf(std::int64_t columns_wanted) {
  return [columns_wanted](const Operands& operands, const Setting& setting) -> Op {
    const std::int64_t columns = std::min(columns_wanted, Count(setting));
    return ops::Reduce{.shape = {Count(setting) / columns, columns},
                       .axis = 1,
                       .input = operands.a,
                       .output = operands.output};
  };
}

// As many rows as the table has, uniformly chosen, so that each is taken once on average. The
// indices, 8 bytes a row, come from the host each time and are not counted: with 4096 columns that
// is a part in 4096 of the bytes, and some hundredths of the time, since the bus is slower. With
// narrow rows they weigh more, and that figure has no target.
MakeOp GatherOf(std::int64_t columns_wanted) {
  return [columns_wanted](const Operands& operands, const Setting& setting) -> Op {
    const std::int64_t columns = std::min(columns_wanted, Columns(setting));
    const std::int64_t rows = Count(setting) / columns;
    ops::Gather op{.rows = rows,
                   .columns = columns,
                   .indices = std::vector<std::int64_t>(static_cast<std::size_t>(rows)),
                   .table = operands.a,
                   .output = operands.output};
    std::minstd_rand random(1);
    for (std::int64_t& index : op.indices) index = static_cast<std::int64_t>(random()) % rows;
    return op;
  };
}

Op MemsetOf(const Operands& operands, const Setting& setting) {
  return ops::Memset{.target = operands.output,
                     .value = 1,
                     .bytes = static_cast<std::uint64_t>(Count(setting)) * sizeof(float)};
}

}  // namespace

std::vector<Figure> CardBandwidthFigures() {
  return {AgainstCopy("unary_relu_64M_vs_copy", 2, UnaryOf(UnaryOp::kRelu)),
          AgainstCopy("unary_exp_64M_vs_copy", 2, UnaryOf(UnaryOp::kExp)),
          AgainstCopy("binary_add_64M_vs_copy", 3, AddOf),
          AgainstCopy("softmax_rows_16384x4096_vs_copy", 2, SoftmaxOver(1)),
          AgainstCopy("softmax_cols_16384x4096_vs_copy", 3, SoftmaxOver(0)),
          AgainstCopy("reduce_sum_64M_vs_copy", 1, SumOfAll),
          AgainstCopy("reduce_sum_rows_16384x4096_vs_copy", 1, SumOver(1)),
          AgainstCopy("reduce_sum_rows_16x4M_vs_copy", 1, SumOfRowsOf(std::int64_t{4} << 20)),
          AgainstCopy("reduce_sum_rows_262144x256_vs_copy", 1, SumOfRowsOf(256)),
          AgainstCopy("reduce_sum_cols_16384x4096_vs_copy", 1, SumOver(0)),
          AgainstCopy("gather_4096cols_vs_copy", 2, GatherOf(4096)),
          AgainstCopy("narrow_gather_256cols_vs_copy", 2, GatherOf(256)),
          AgainstCopy("memset_64M_vs_copy", 1, MemsetOf)};
}

}  // namespace acceld::bench
