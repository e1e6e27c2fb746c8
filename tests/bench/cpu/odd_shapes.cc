#include "tests/bench/cpu/odd_shapes.h"

#include <algorithm>
#include <array>
#include <random>

#include "fmt/format.h"

namespace acceld::bench {
namespace {

// 4 M elements, twice 16 MiB, and the next prime below.
constexpr std::int64_t kCount = std::int64_t{1} << 22;
constexpr std::int64_t kPrime = 4194301;

ShapedOps UnaryShapes() {
  ShapedOps all{.name = "unary", .ops = {}};
  for (const std::int64_t n : {kCount, kPrime, kCount / 2 + 1, kCount / 16 - 1}) {
    all.ops.push_back({fmt::format("{}", n), ops::Unary{.op = UnaryOp::kExp, .n = n}});
  }
  return all;
}

ShapedOps BinaryShapes() {
  ShapedOps all{.name = "binary", .ops = {}};
  for (const std::int64_t n : {kCount, kPrime, kCount / 2 + 1, kCount / 16 - 1}) {
    all.ops.push_back({fmt::format("{}", n), ops::Binary{.op = BinaryOp::kAdd, .n = n}});
  }
  return all;
}

struct ShapeAndAxis {
  Shape shape;
  std::int64_t axis;
};

std::vector<ShapeAndAxis> ArrayShapes() {
  const Shape sevens = {7, 7, 7, 7, 7, 7, 7, 7};
  const Shape eights = {8, 8, 8, 8, 8, 8, 8, 2};
  return {{{2048, 2048}, 1},    {{2048, 2048}, 0},    {{2039, 2053}, 1},    {{2039, 2053}, 0},
          {{1, kCount}, 1},     {{1, kCount}, 0},     {{kCount, 1}, 1},     {{kCount, 1}, 0},
          {{kCount / 3, 3}, 1}, {{kCount / 3, 3}, 0}, {{3, kCount / 3}, 1}, {{3, kCount / 3}, 0},
          {{67777, 61}, 1},     {{67777, 61}, 0},     {{128, 256, 128}, 1}, {{127, 257, 131}, 1},
          {{1021, 4099, 1}, 1}, {{40009, 5, 21}, 1},  {{21, 5, 40009}, 1},  {sevens, 7},
          {sevens, 6},          {sevens, 4},          {sevens, 0},          {eights, 7},
          {eights, 3}};
}

std::string Label(const ShapeAndAxis& array) {
  return fmt::format("{} axis {}", array.shape.ToString(), array.axis);
}

ShapedOps ReduceShapes() {
  ShapedOps all{.name = "reduce", .ops = {}};
  for (const ShapeAndAxis& array : ArrayShapes()) {
    all.ops.push_back(
        {Label(array),
         ops::Reduce{.op = ReduceOp::kSum, .shape = array.shape, .axis = array.axis}});
  }
  all.ops.push_back({"[2048, 2048] axis 0, max",
                     ops::Reduce{.op = ReduceOp::kMax, .shape = {2048, 2048}, .axis = 0}});
  return all;
}

ShapedOps SoftmaxShapes() {
  ShapedOps all{.name = "softmax", .ops = {}};
  for (const ShapeAndAxis& array : ArrayShapes()) {
    all.ops.push_back({Label(array), ops::Softmax{.shape = array.shape, .axis = array.axis}});
  }
  return all;
}

struct TableSize {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t count;
};

constexpr TableSize kTables[] = {{8192, 256, 8192},   {8191, 257, 8191},  {8209, 251, 8209},
                                 {1, 2097152, 1},     {3, 699053, 5},     {1, 256, 8192},
                                 {30011, 67, 30011},  {65537, 31, 65537}, {116509, 17, 116509},
                                 {299593, 7, 299593}, {2, 3, 699053}};

std::vector<std::int64_t> IndicesFor(const TableSize& table) {
  std::minstd_rand random(1);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(table.count));
  for (std::int64_t& index : indices) index = static_cast<std::int64_t>(random()) % table.rows;
  return indices;
}

std::string Label(const TableSize& table) {
  return fmt::format("{} of {} x {}", table.count, table.rows, table.columns);
}

ShapedOps GatherShapes() {
  ShapedOps all{.name = "gather", .ops = {}};
  for (const TableSize& table : kTables) {
    all.ops.push_back(
        {Label(table),
         ops::Gather{.rows = table.rows, .columns = table.columns, .indices = IndicesFor(table)}});
  }
  return all;
}

ShapedOps ScatterShapes() {
  ShapedOps all{.name = "scatter", .ops = {}};
  for (const TableSize& table : kTables) {
    all.ops.push_back(
        {Label(table),
         ops::Scatter{.rows = table.rows, .columns = table.columns, .indices = IndicesFor(table)}});
  }
  return all;
}

constexpr std::array<std::int64_t, 3> kProducts[] = {
    {512, 512, 512}, {509, 521, 503}, {1, 2048, 2048}, {2048, 1, 2048}, {2048, 2048, 1},
    {1, 1, kCount},  {3, 5, 100003},  {7, 100003, 11}, {4099, 17, 4093}};

// `op`, any of the gemms, of each of the sizes; with both factors transposed as well.
template <typename GemmOp>
ShapedOps ProductShapes(std::string name, GemmOp op) {
  ShapedOps all{.name = std::move(name), .ops = {}};
  for (const auto& [m, n, k] : kProducts) {
    for (const Transpose transpose : {Transpose::kNone, Transpose::kTranspose}) {
      const bool transposed = transpose == Transpose::kTranspose;
      op.transpose_a = op.transpose_b = transpose;
      op.m = m;
      op.n = n;
      op.k = k;
      op.lda = transposed ? k : m;
      op.ldb = transposed ? n : k;
      op.ldc = m;
      all.ops.push_back({fmt::format("{} x {} x {}{}", m, n, k, transposed ? " tt" : ""), op});
    }
  }
  return all;
}

ShapedOps BatchedGemmShapes() {
  ShapedOps all{.name = "batched_gemm", .ops = {}};
  for (const auto& [batch, m, n, k] :
       std::initializer_list<std::array<std::int64_t, 4>>{{128, 128, 128, 128},
                                                          {127, 113, 131, 109},
                                                          {1, 512, 512, 512},
                                                          {2, 509, 521, 503},
                                                          {4096, 31, 31, 31},
                                                          {20011, 7, 5, 11},
                                                          {100003, 3, 3, 3},
                                                          {1021, 1, 61, 67}}) {
    all.ops.push_back(
        {fmt::format("{} of {} x {} x {}", batch, m, n, k), ops::BatchedGemm{.m = m,
                                                                             .n = n,
                                                                             .k = k,
                                                                             .lda = m,
                                                                             .stride_a = m * k,
                                                                             .ldb = k,
                                                                             .stride_b = k * n,
                                                                             .ldc = m,
                                                                             .stride_c = m * n,
                                                                             .batch = batch}});
  }
  return all;
}

struct Convolution {
  std::array<std::int64_t, 4> input;
  std::array<std::int64_t, 4> filter;
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> padding{0, 0};
};

const Convolution kConvolutions[] = {
    {.input = {8, 64, 28, 28}, .filter = {64, 64, 3, 3}, .padding = {1, 1}},
    {.input = {7, 61, 29, 31}, .filter = {59, 61, 3, 3}, .padding = {1, 1}},
    {.input = {1, 64, 56, 56}, .filter = {64, 64, 3, 3}, .padding = {1, 1}},
    {.input = {1, 3, 224, 224}, .filter = {64, 3, 7, 7}, .stride = {2, 2}, .padding = {3, 3}},
    {.input = {1, 512, 7, 7}, .filter = {512, 512, 1, 1}},
    {.input = {1, 1, 509, 509}, .filter = {1, 1, 3, 3}},
    {.input = {1, 64, 1, 3137}, .filter = {64, 64, 1, 3}, .padding = {0, 1}},
    {.input = {1, 64, 3137, 1}, .filter = {64, 64, 3, 1}, .padding = {1, 0}},
    {.input = {3, 17, 61, 53}, .filter = {13, 17, 5, 2}, .stride = {3, 1}, .padding = {2, 0}},
    {.input = {2, 31, 23, 23}, .filter = {37, 31, 23, 23}}};

template <typename ConvolutionOp>
ShapedOps ConvolutionShapes(std::string name) {
  ShapedOps all{.name = std::move(name), .ops = {}};
  for (const Convolution& convolution : kConvolutions) {
    const auto& [n, c, h, w] = convolution.input;
    const auto& filter = convolution.filter;
    ConvolutionOp op;
    op.shape = Conv2dShape::For(convolution.input, filter, convolution.stride, convolution.padding);
    all.ops.push_back({fmt::format("{} x {} x {} x {}, {} of {} x {} / {}", n, c, h, w, filter[0],
                                   filter[2], filter[3], convolution.stride[0]),
                       op});
  }
  return all;
}

ShapedOps AttentionShapes() {
  ShapedOps all{.name = "attention", .ops = {}};
  for (const auto& [heads, seq_q, seq_kv, head_dim] :
       std::initializer_list<std::array<std::int64_t, 4>>{{8, 512, 512, 64},
                                                          {7, 509, 503, 61},
                                                          {8, 1, 4096, 64},
                                                          {8, 4096, 1, 64},
                                                          {1, 2039, 1021, 64},
                                                          {8, 512, 512, 1},
                                                          {211, 61, 67, 31},
                                                          {1009, 7, 11, 64}}) {
    for (const bool causal : {false, true}) {
      if (causal && seq_q != 512 && seq_q != 509) continue;
      all.ops.push_back({fmt::format("{} x {} x {} x {}{}", heads, seq_q, seq_kv, head_dim,
                                     causal ? " causal" : ""),
                         ops::Attention{.batch = 1,
                                        .heads = heads,
                                        .seq_q = seq_q,
                                        .seq_kv = seq_kv,
                                        .head_dim = head_dim,
                                        .scale = 0.125f,
                                        .causal = causal}});
    }
  }
  return all;
}

}  // namespace

std::vector<ShapedOps> OddShapes() {
  return {UnaryShapes(),
          BinaryShapes(),
          ReduceShapes(),
          SoftmaxShapes(),
          GatherShapes(),
          ScatterShapes(),
          ProductShapes("gemm", ops::Gemm{.type = DataType::kF32}),
          ProductShapes("gemm_f64", ops::Gemm{.type = DataType::kF64}),
          ProductShapes("gemm_mixed_precision",
                        ops::GemmMixedPrecision{.precision = MixedPrecision::kBf16}),
          BatchedGemmShapes(),
          ConvolutionShapes<ops::Conv2dForward>("conv_fwd"),
          ConvolutionShapes<ops::Conv2dBackwardData>("conv_bwd_data"),
          ConvolutionShapes<ops::Conv2dBackwardFilter>("conv_bwd_filter"),
          AttentionShapes()};
}

double WorkOf(const Op& op) {
  constexpr double kFlopsPerElement = 32;
  Op copy = op;
  const double elements = BytesOf(copy) / sizeof(float);
  switch (ClassOf(op)) {
    case OpClass::kMatmul:
    case OpClass::kConvolution:
      return std::max(FlopsOf(op), kFlopsPerElement * elements);
    default:
      break;
  }
  if (const auto* attention = std::get_if<ops::Attention>(&op)) {
    // Beside the products, whose flops are 4 head_dim a score, each score is exponentiated.
    constexpr double kFlopsPerExponential = 16;
    const double flops = FlopsOf(op);
    const double scores = flops / (4 * static_cast<double>(attention->head_dim));
    return std::max(flops + kFlopsPerExponential * scores, kFlopsPerElement * elements);
  }
  if (const auto* reduce = std::get_if<ops::Reduce>(&op)) {
    return static_cast<double>(reduce->shape.ElementCount());
  }
  if (const auto* gather = std::get_if<ops::Gather>(&op)) {
    return static_cast<double>(gather->indices.size()) * static_cast<double>(gather->columns);
  }
  if (const auto* scatter = std::get_if<ops::Scatter>(&op)) {
    return static_cast<double>(scatter->indices.size()) * static_cast<double>(scatter->columns);
  }
  return elements;
}

}  // namespace acceld::bench
