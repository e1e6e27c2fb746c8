// What CUB is told to fold rows; here it is played, in more than one order.
#include "backends/cuda/kernels/reduce_rows.h"

#include <algorithm>
#include <limits>

#include "backends/ops/reduce.h"
#include "backends/reference/reference.h"
#include "tests/unit/backends/cuda/kernels/testing.h"

namespace acceld::cuda {
namespace {

struct Rows {
  std::int64_t rows;
  std::int64_t length;
};

void PrintTo(const Rows& r, std::ostream* stream) {
  *stream << "[" << r.rows << ", " << r.length << "]";
}

// One and many; whole tiles and not; cut and not, with a last piece of any size.
constexpr std::initializer_list<Rows> kShapes = {
    {1, 1},     {1, 2047},   {1, 2048},    {1, 8191},   {1, 8192},
    {1, 8193},  {1, 12'289}, {1, 300'001}, {3, 50'001}, {130, 8200},
    {600, 300}, {513, 513},  {1025, 10},   {2000, 1},   {20, 4096},
};

TEST(RowPiecesTest, CoverEachRowByWholeTilesAndARest) {
  for (const Rows& r : kShapes) {
    SCOPED_TRACE(testing::PrintToString(r));
    const RowPieces pieces(r.rows, r.length);
    ASSERT_EQ(pieces.count(), r.rows * pieces.per_row());
    EXPECT_EQ(pieces.Begin(pieces.count()), r.rows * r.length);
    for (std::int64_t piece = 0; piece < pieces.count(); ++piece) {
      const std::int64_t begin = pieces.Begin(piece);
      const std::int64_t end = pieces.Begin(piece + 1);
      const std::int64_t row = piece / pieces.per_row();
      ASSERT_LT(begin, end);
      ASSERT_GE(begin, row * r.length);
      ASSERT_LE(end, (row + 1) * r.length);
      if (piece % pieces.per_row() == 0) {
        ASSERT_EQ(begin, row * r.length);
      }
      if ((piece + 1) % pieces.per_row() != 0) {
        ASSERT_EQ((end - begin) % kSegmentTile, 0);
      }
    }
  }
}

TEST(RowPiecesTest, AreShorterThanRowsWhereTheseAreFewAndLong) {
  EXPECT_EQ(RowPieces(1, std::int64_t{16} << 20).per_row(), 1024);
  EXPECT_EQ(RowPieces(1, std::int64_t{1} << 40).per_row(), 1024);
  EXPECT_EQ(RowPieces(100, std::int64_t{1} << 20).per_row(), 10);
  EXPECT_EQ(RowPieces(512, std::int64_t{1} << 20).per_row(), 2);
  EXPECT_EQ(RowPieces(513, std::int64_t{1} << 20).per_row(), 1);
  EXPECT_EQ(RowPieces(std::int64_t{1} << 40, 2048).per_row(), 1);
  EXPECT_EQ(RowPieces(1, 8191).per_row(), 1);
  EXPECT_EQ(RowPieces(1, 8192).per_row(), 2);
}

TEST(PieceBeginsTest, MayBeAdvanced) {
  const RowPieces pieces(3, 30'001);
  const PieceBegins begins(pieces);
  const PieceBegins later = begins + 2 + 3;
  EXPECT_EQ(begins[0], 0);
  EXPECT_EQ(later[0], pieces.Begin(5));
  EXPECT_EQ(later[4], pieces.Begin(9));
}

// As CUB's kernels use what they are given: a block's threads take elements that are `lanes` apart,
// each from its first one on; their values are combined, and with what a result begins.
class PlayedCub {
 public:
  PlayedCub(std::int64_t lanes, HostOrder order) : lanes_(lanes), order_(order) {}

  int calls() const { return calls_; }

  template <typename Elements, typename Combine>
  bool operator()(const Elements& elements, const FoldedResults& results, const RowPieces& pieces,
                  Combine combine) {
    ++calls_;
    const PieceBegins begins(pieces);
    const PieceBegins ends = begins + 1;
    for (std::int64_t i = 0; i < pieces.count(); ++i) {
      const std::int64_t piece = order_ == HostOrder::kForward ? i : pieces.count() - 1 - i;
      *(results + piece) = combine(
          Combine::kStart, Block(elements + begins[piece], ends[piece] - begins[piece], combine));
    }
    return true;
  }

 private:
  template <typename Elements, typename Combine>
  double Block(const Elements& elements, std::int64_t count, Combine combine) const {
    std::vector<double> values;
    for (std::int64_t lane = 0; lane < std::min(lanes_, count); ++lane) {
      double value = elements[lane];
      for (std::int64_t i = lane + lanes_; i < count; i += lanes_) {
        value = combine(value, elements[i]);
      }
      values.push_back(value);
    }
    if (order_ == HostOrder::kBackward) std::reverse(values.begin(), values.end());
    double value = values[0];
    for (std::size_t lane = 1; lane < values.size(); ++lane) value = combine(value, values[lane]);
    return value;
  }

  const std::int64_t lanes_;
  const HostOrder order_;
  int calls_ = 0;
};

constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin};

std::vector<float> Reduced(ReduceOp op, const Rows& r, const std::vector<float>& input,
                           PlayedCub cub) {
  std::vector<float> output(static_cast<std::size_t>(r.rows), -1);
  ReductionCall call{
      .op = op, .rows = r.rows, .length = r.length, .input = input.data(), .output = output.data()};
  // Nothing is to be read before it is written, nor beyond the end.
  std::vector<double> workspace(call.workspace_bytes() / sizeof(double), NAN);
  call.workspace = reinterpret_cast<std::byte*>(workspace.data());
  EXPECT_TRUE(call.Run(cub));
  EXPECT_EQ(cub.calls(), RowPieces(r.rows, r.length).per_row() > 1 ? 2 : 1);
  return output;
}

std::vector<float> ReferenceOf(ReduceOp op, const Rows& r, const std::vector<float>& input) {
  std::vector<float> output(static_cast<std::size_t>(r.rows));
  reference::Run(ops::Reduce{.op = op,
                             .shape = {r.rows, r.length},
                             .axis = 1,
                             .input = AddressOf(input),
                             .output = AddressOf(output)});
  return output;
}

// max and min in every bit, whatever the order.
void ExpectLikeReference(const Rows& r, const std::vector<float>& input) {
  for (const ReduceOp op : kOps) {
    SCOPED_TRACE(testing::Message() << Name(op) << " of " << testing::PrintToString(r));
    const std::vector<float> expected = ReferenceOf(op, r, input);
    for (const HostOrder order : {HostOrder::kForward, HostOrder::kBackward}) {
      for (const std::int64_t lanes : {1, 256}) {
        const std::vector<float> actual = Reduced(op, r, input, PlayedCub(lanes, order));
        const bool sums = op == ReduceOp::kSum || op == ReduceOp::kMean;
        ExpectClose(actual, expected, sums ? 1.3e-7 : 0, sums ? 1e-11 : 0);
      }
    }
  }
}

TEST(ReductionCallTest, AgreesWithTheReference) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Rows& r : kShapes) ExpectLikeReference(r, random.Floats(r.rows * r.length));
}

TEST(ReductionCallTest, SpreadsNanAndInfinityAsItShould) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const Rows& r : {Rows{1, 3000}, {40, 2100}, {1, 40'000}, {3, 9000}}) {
    std::vector<float> input = random.Floats(r.rows * r.length);
    for (int i = 0; i < 7; ++i) {
      input[static_cast<std::size_t>(random.Integer(0, std::ssize(input) - 1))] =
          random.Pick({NAN, INFINITY, -INFINITY});
    }
    ExpectLikeReference(r, input);
    std::fill(input.begin(), input.end(), NAN);
    ExpectLikeReference(r, input);
    input[static_cast<std::size_t>(random.Integer(0, std::ssize(input) - 1))] = -INFINITY;
    ExpectLikeReference(r, input);
  }
}

TEST(ReductionCallTest, LosesNoDigitsOfLongSumsAndRoundsOnce) {
  // In f32, 2^24 + 1 is 2^24.
  std::vector<float> input(100'000, 1);
  input[0] = 0x1p24f;
  const PlayedCub cub(256, HostOrder::kForward);
  EXPECT_THAT(Reduced(ReduceOp::kSum, {1, 100'000}, input, cub),
              testing::ElementsAre(0x1p24f + 100'000.0f));
  // The sum is no number of f32, and rounded to one it would have another mean.
  input.assign(3000, 1);
  input[0] = 0x1.000008p25f;
  EXPECT_THAT(Reduced(ReduceOp::kMean, {1, 3000}, input, cub),
              testing::ElementsAre(static_cast<float>(33'557'447.0 / 3000)));
}

TEST(ReductionCallTest, KeepsTheSmallestAndLargestNumbersOfMaxAndMin) {
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  constexpr float kHuge = std::numeric_limits<float>::max();
  std::vector<float> input(10'000, kTiny);
  input[9000] = 2 * kTiny;
  const PlayedCub cub(256, HostOrder::kForward);
  EXPECT_THAT(Reduced(ReduceOp::kMin, {1, 10'000}, input, cub), testing::ElementsAre(kTiny));
  EXPECT_THAT(Reduced(ReduceOp::kMax, {1, 10'000}, input, cub), testing::ElementsAre(2 * kTiny));
  input.assign(10'000, -kHuge);
  EXPECT_THAT(Reduced(ReduceOp::kMax, {1, 10'000}, input, cub), testing::ElementsAre(-kHuge));
  input.assign(10'000, -0.0f);
  EXPECT_TRUE(std::signbit(Reduced(ReduceOp::kMax, {1, 10'000}, input, cub)[0]));
}

TEST(ReductionCallTest, EndsWithTheFirstCallThatFails) {
  std::vector<std::byte> workspace(10'000);
  std::vector<float> data(20'000);
  int calls = 0;
  const ReductionCall call{.rows = 1,
                           .length = 20'000,
                           .input = data.data(),
                           .output = data.data(),
                           .workspace = workspace.data()};
  EXPECT_FALSE(call.Run([&calls](const auto&...) {
    ++calls;
    return false;
  }));
  EXPECT_EQ(calls, 1);
}

TEST(ReductionCallTest, TakesWorkspaceForWhatTheShapeSays) {
  const auto bytes = [](std::int64_t rows, std::int64_t length) {
    return ReductionCall{.rows = rows, .length = length}.workspace_bytes();
  };
  EXPECT_EQ(bytes(1000, 4096), ReductionCall::kLibraryBytes);
  EXPECT_EQ(bytes(1, 8192), ReductionCall::kLibraryBytes + 2 * sizeof(double));
  EXPECT_EQ(bytes(100, std::int64_t{1} << 20),
            ReductionCall::kLibraryBytes + 1000 * sizeof(double));
}

}  // namespace
}  // namespace acceld::cuda
