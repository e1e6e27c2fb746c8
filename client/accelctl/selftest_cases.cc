#include "client/accelctl/selftest_cases.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "fmt/format.h"

namespace acceld::accelctl {
namespace {

// For sums of some dozen terms of about 1.
constexpr double kF32Sum = 1e-5;
constexpr double kF64Sum = 1e-13;
// For functions that no standard says how to round, of values of about 1.
constexpr double kF32Function = 4e-6;
constexpr double kExact = 0;

// Odd, so that the kernels' edges are used as well.
constexpr std::int64_t kM = 37;
constexpr std::int64_t kN = 29;
constexpr std::int64_t kK = 41;
constexpr std::int64_t kElements = 1021;

// The leading dimensions are larger than the matrices by this.
constexpr std::int64_t kLdGap = 3;

using Cases = std::vector<SelftestCase>;

template <typename T>
using For = std::type_identity<T>;

std::int64_t LeadingDimension(Transpose transpose, std::int64_t rows, std::int64_t columns) {
  return (transpose == Transpose::kNone ? rows : columns) + kLdGap;
}

constexpr std::pair<Transpose, Transpose> kTransposes[] = {
    {Transpose::kNone, Transpose::kNone},
    {Transpose::kTranspose, Transpose::kNone},
    {Transpose::kNone, Transpose::kTranspose},
    {Transpose::kConjugateTranspose, Transpose::kTranspose},
};

// The sizes that the three products have alike.
template <typename T>
T MakeProduct(Transpose transpose_a, Transpose transpose_b) {
  T op;
  op.transpose_a = transpose_a;
  op.transpose_b = transpose_b;
  op.m = kM;
  op.n = kN;
  op.k = kK;
  op.alpha = 1.5;
  op.lda = LeadingDimension(transpose_a, kM, kK);
  op.ldb = LeadingDimension(transpose_b, kK, kN);
  op.beta = 0.5;
  op.ldc = kM + kLdGap;
  return op;
}

void AddCases(For<ops::Gemm>, Cases& cases) {
  for (const DataType type : {DataType::kF32, DataType::kF64}) {
    for (const auto& [transpose_a, transpose_b] : kTransposes) {
      auto op = MakeProduct<ops::Gemm>(transpose_a, transpose_b);
      op.type = type;
      cases.push_back(
          {.name = fmt::format("{} {}{}", Name(type), Name(transpose_a), Name(transpose_b)),
           .op = op,
           .tolerance = type == DataType::kF64 ? kF64Sum : kF32Sum});
    }
  }
}

void AddCases(For<ops::GemmMixedPrecision>, Cases& cases) {
  for (const MixedPrecision precision : {MixedPrecision::kF16, MixedPrecision::kBf16}) {
    for (const auto& [transpose_a, transpose_b] : kTransposes) {
      auto op = MakeProduct<ops::GemmMixedPrecision>(transpose_a, transpose_b);
      op.precision = precision;
      cases.push_back(
          {.name = fmt::format("{} {}{}", Name(precision), Name(transpose_a), Name(transpose_b)),
           .op = op,
           .tolerance = kF32Sum});
    }
  }
}

void AddCases(For<ops::BatchedGemm>, Cases& cases) {
  for (const DataType type : {DataType::kF32, DataType::kF64}) {
    auto op = MakeProduct<ops::BatchedGemm>(Transpose::kNone, Transpose::kTranspose);
    op.type = type;
    op.batch = 3;
    op.stride_a = op.lda * kK + 1;
    op.stride_b = 0;
    op.stride_c = op.ldc * kN + 5;
    cases.push_back({.name = fmt::format("{} NT, B shared", Name(type)),
                     .op = op,
                     .tolerance = type == DataType::kF64 ? kF64Sum : kF32Sum});
  }
}

const std::pair<const char*, Conv2dShape> kConvolutions[] = {
    {"3x2 filter", Conv2dShape::For({2, 3, 9, 11}, {5, 3, 3, 2})},
    {"stride 2x3, padding 1x2", Conv2dShape::For({2, 3, 9, 11}, {5, 3, 3, 5}, {2, 3}, {1, 2})},
};

template <typename T>
void AddConvolutions(Cases& cases) {
  for (const auto& [name, shape] : kConvolutions) {
    T op;
    op.shape = shape;
    cases.push_back({.name = name, .op = op, .tolerance = kF32Sum});
  }
}

void AddCases(For<ops::Conv2dForward>, Cases& cases) { AddConvolutions<ops::Conv2dForward>(cases); }
void AddCases(For<ops::Conv2dBackwardData>, Cases& cases) {
  AddConvolutions<ops::Conv2dBackwardData>(cases);
}
void AddCases(For<ops::Conv2dBackwardFilter>, Cases& cases) {
  AddConvolutions<ops::Conv2dBackwardFilter>(cases);
}

void AddCases(For<ops::Attention>, Cases& cases) {
  const ops::Attention op{
      .batch = 2, .heads = 3, .seq_q = 5, .seq_kv = 7, .head_dim = 11, .scale = 0.3f};
  cases.push_back({.name = "5 queries, 7 keys", .op = op, .tolerance = kF32Sum});
  ops::Attention causal = op;
  causal.causal = true;
  cases.push_back({.name = "causal, 5 queries, 7 keys", .op = causal, .tolerance = kF32Sum});
  causal.seq_q = 9;
  cases.push_back({.name = "causal, 9 queries, 7 keys", .op = causal, .tolerance = kF32Sum});
}

void AddCases(For<ops::Reduce>, Cases& cases) {
  for (const auto& entry : EnumTable<ReduceOp>::kEntries) {
    for (const std::int64_t axis : {0, 1, 2}) {
      const bool sums = entry.value == ReduceOp::kSum || entry.value == ReduceOp::kMean;
      cases.push_back({.name = fmt::format("{} over axis {}", entry.name, axis),
                       .op = ops::Reduce{.op = entry.value, .shape = {7, 17, 5}, .axis = axis},
                       .tolerance = sums ? kF32Sum : kExact});
    }
  }
}

void AddCases(For<ops::Softmax>, Cases& cases) {
  for (const std::int64_t axis : {0, 1, 2}) {
    cases.push_back({.name = fmt::format("over axis {}", axis),
                     .op = ops::Softmax{.shape = {7, 17, 5}, .axis = axis},
                     .tolerance = kF32Function,
                     .low = -4,
                     .high = 4});
  }
}

void AddCases(For<ops::Unary>, Cases& cases) {
  for (const auto& entry : EnumTable<UnaryOp>::kEntries) {
    SelftestCase added{.name = std::string(entry.name),
                       .op = ops::Unary{.op = entry.value, .n = kElements},
                       .tolerance = kExact,
                       .low = -4,
                       .high = 4};
    switch (entry.value) {
      case UnaryOp::kRelu:
      case UnaryOp::kAbs:
      case UnaryOp::kNeg:
        break;
      case UnaryOp::kSqrt:
        added.low = 0;
        break;
      case UnaryOp::kLog:
        added.low = 0.01;
        added.tolerance = kF32Function;
        break;
      case UnaryOp::kSigmoid:
      case UnaryOp::kTanh:
      case UnaryOp::kExp:
        added.tolerance = kF32Function;
        break;
    }
    cases.push_back(std::move(added));
  }
}

void AddCases(For<ops::Binary>, Cases& cases) {
  for (const auto& entry : EnumTable<BinaryOp>::kEntries) {
    cases.push_back({.name = std::string(entry.name),
                     .op = ops::Binary{.op = entry.value, .n = kElements},
                     .tolerance = kExact});
  }
}

void AddCases(For<ops::Gather>, Cases& cases) {
  cases.push_back({.name = "5 of 11 rows",
                   .op = ops::Gather{.rows = 11, .columns = 7, .indices = {10, 0, 3, 3, 8}},
                   .tolerance = kExact});
}

// Row 3 is written twice: the last one wins.
void AddCases(For<ops::Scatter>, Cases& cases) {
  cases.push_back({.name = "5 to 11 rows",
                   .op = ops::Scatter{.rows = 11, .columns = 7, .indices = {10, 3, 0, 3, 8}},
                   .tolerance = kExact});
}

void AddCases(For<ops::Memset>, Cases& cases) {
  cases.push_back({.name = fmt::format("{} bytes", kElements),
                   .op = ops::Memset{.value = 0xA5, .bytes = kElements},
                   .tolerance = kExact});
}

void AddCases(For<ops::CopyDtoD>, Cases& cases) {
  cases.push_back({.name = fmt::format("{} bytes", kElements),
                   .op = ops::CopyDtoD{.bytes = kElements},
                   .tolerance = kExact});
}

template <std::size_t... kIndex>
Cases CasesOfAll(std::index_sequence<kIndex...>) {
  Cases cases;
  (AddCases(For<std::variant_alternative_t<kIndex, Op>>{}, cases), ...);
  return cases;
}

}  // namespace

Cases SelftestCases() { return CasesOfAll(std::make_index_sequence<kOpCount>{}); }

}  // namespace acceld::accelctl
