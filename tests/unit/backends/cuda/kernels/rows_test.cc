// Copies of rows, scaling and rounding of matrices.
#include <algorithm>

#include "backends/core/rounding.h"
#include "tests/unit/backends/cuda/kernels/testing.h"

namespace acceld::cuda {
namespace {

std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

TEST(RowTilingTest, GivesEveryUnitToOneThread) {
  for (const std::int64_t rows : {1, 2, 7, 255, 300}) {
    for (const std::int64_t units : {1, 2, 3, 63, 64, 100, 255, 257, 1025, 3000}) {
      const RowTiling tiling(rows, units);
      std::vector<int> seen(Index(rows * units));
      for (std::int64_t block = 0; block < tiling.grid().blocks; ++block) {
        for (int thread = 0; thread < RowTiling::kThreads; ++thread) {
          const RowTiling::Part part = tiling.At(block, thread);
          for (int e = 0; e < part.count; ++e) {
            ++seen[Index(part.row * units + part.first + e * part.step)];
          }
        }
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), std::ssize(seen))
          << rows << " rows of " << units;
    }
  }
}

// Columns with and without whole vectors, short and longer than a block takes.
constexpr std::initializer_list<std::int64_t> kColumnCounts = {1, 3, 4, 64, 100, 129, 5000, 5001};

TEST(CopyRowsKernelTest, Gathers) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const std::int64_t columns : kColumnCounts) {
    constexpr std::int64_t kRowsOfTable = 9;
    const std::vector<float> table = random.Floats(kRowsOfTable * columns);
    std::vector<std::int64_t> rows(17);
    for (std::int64_t& row : rows) row = random.Integer(0, kRowsOfTable - 1);
    std::vector<float> expected;
    for (const std::int64_t row : rows) {
      expected.insert(expected.end(), table.begin() + row * columns,
                      table.begin() + (row + 1) * columns);
    }
    for (int offset = 0; offset < 16; ++offset) {
      Placed source(table, offset / 4);
      Placed target(std::vector<float>(expected.size(), NAN), offset % 4);
      RunOnHost(CopyRowsKernel(std::ssize(rows), columns, source.data(),
                               {rows.data(), kRowsOfTable}, target.data(), {}));
      ASSERT_EQ(target.values(), expected) << columns << " columns, offsets " << offset;
      target.ExpectNothingAroundChanged();
    }
  }
}

TEST(CopyRowsKernelTest, ScattersChosenRowsToChosenRows) {
  Random random;
  SCOPED_TRACE(random.Trace());
  const std::vector<std::int64_t> from = {2, 0};
  const std::vector<std::int64_t> to = {4, 1};
  for (const std::int64_t columns : kColumnCounts) {
    const std::vector<float> source = random.Floats(3 * columns);
    std::vector<float> table = random.Floats(5 * columns);
    std::vector<float> expected = table;
    for (std::size_t i = 0; i < 2; ++i) {
      std::copy_n(source.begin() + from[i] * columns, columns, expected.begin() + to[i] * columns);
    }
    RunOnHost(
        CopyRowsKernel(2, columns, source.data(), {from.data(), 3}, table.data(), {to.data(), 5}));
    EXPECT_EQ(table, expected);
  }
}

template <typename T>
void ExpectScales(Random& random, std::int64_t m, std::int64_t n, std::int64_t batch, T beta) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << ", " << batch << " times " << beta);
  const std::int64_t ldc = m + random.Integer(0, 3);
  const std::int64_t stride = ldc * n + random.Integer(0, 5);
  std::vector<T> c(Index(stride * batch));
  for (T& value : c) value = static_cast<T>(random.Integer(-50, 50));
  std::vector<T> expected = c;
  for (std::int64_t i = 0; i < batch; ++i) {
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t row = 0; row < m; ++row) {
        expected[Index(i * stride + column * ldc + row)] *= beta;
      }
    }
  }
  RunOnHost(ScaleKernel<T>(m, n, beta, c.data(), ldc, stride, batch));
  EXPECT_EQ(c, expected);
}

TEST(ScaleKernelTest, ScalesTheElementsAndNothingBetween) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 20; ++i) {
    const std::int64_t m = random.Pick<std::int64_t>({1, 3, 40, 1500});
    const std::int64_t n = random.Integer(1, 9);
    ExpectScales<float>(random, m, n, random.Integer(1, 3), random.Pick({0.0f, 0.5f, -3.0f}));
    ExpectScales<double>(random, m, n, random.Integer(1, 3), random.Pick({0.0, 0.5, -3.0}));
  }
}

TEST(ScaleKernelTest, DoesNotReadForBetaZero) {
  std::vector<float> c(12, NAN);
  RunOnHost(ScaleKernel<float>(4, 3, 0.0f, c.data(), 4));
  EXPECT_EQ(c, std::vector<float>(12, 0));
}

// Around every number of 16 bits: itself, what is halfway to the next, and what is just beside.
std::vector<float> NumbersAround(float (*to_f32)(std::uint16_t)) {
  std::vector<float> numbers;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = to_f32(static_cast<std::uint16_t>(bits));
    const float next = to_f32(static_cast<std::uint16_t>(bits + 1));
    const float halfway = x + (next - x) / 2;
    for (const float y : {x, halfway}) {
      numbers.insert(numbers.end(), {y, std::nextafter(y, -INFINITY), std::nextafter(y, INFINITY)});
    }
  }
  return numbers;
}

bool IsNan(MixedPrecision precision, std::uint16_t bits) {
  return std::isnan(precision == MixedPrecision::kF16 ? F16ToF32(bits) : Bf16ToF32(bits));
}

TEST(RoundKernelTest, RoundsAsIeee754) {
  for (const MixedPrecision precision : {MixedPrecision::kF16, MixedPrecision::kBf16}) {
    SCOPED_TRACE(Name(precision));
    const bool f16 = precision == MixedPrecision::kF16;
    std::vector<float> numbers = NumbersAround(f16 ? F16ToF32 : Bf16ToF32);
    for (const float x : {0x1p-25f, 0x1.000002p-25f, 65519.0f, 65520.0f, 1e30f, 3.4e38f}) {
      numbers.insert(numbers.end(), {x, -x});
    }
    std::vector<std::uint16_t> rounded(numbers.size());
    RunOnHost(RoundKernel(precision, std::ssize(numbers), 1, numbers.data(), std::ssize(numbers),
                          rounded.data(), std::ssize(numbers)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint16_t expected = f16 ? F32ToF16(numbers[i]) : F32ToBf16(numbers[i]);
      if (IsNan(precision, expected)) {
        ASSERT_TRUE(IsNan(precision, rounded[i])) << numbers[i];
      } else {
        ASSERT_EQ(rounded[i], expected) << numbers[i];
      }
    }
  }
}

TEST(RoundKernelTest, TakesAnyMatrixAtAnyAddress) {
  Random random;
  SCOPED_TRACE(random.Trace());
  for (int i = 0; i < 60; ++i) {
    const std::int64_t rows = random.Pick<std::int64_t>({1, 4, 5, 64, 1200});
    const std::int64_t columns = random.Integer(1, 5);
    const std::int64_t ld = rows + random.Pick<std::int64_t>({0, 1, 4});
    const std::int64_t target_ld = rows + random.Pick<std::int64_t>({0, 1, 4});
    const std::vector<float> values = random.Floats(ld * columns, 100);
    Placed source(values, static_cast<int>(random.Integer(0, 3)));
    std::vector<std::uint16_t> target(Index(target_ld * columns + 8), 0xabcd);
    std::vector<std::uint16_t> expected = target;
    const std::int64_t offset = random.Pick<std::int64_t>({0, 1, 8});
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = 0; row < rows; ++row) {
        expected[Index(offset + column * target_ld + row)] =
            F32ToF16(values[Index(column * ld + row)]);
      }
    }
    RunOnHost(RoundKernel(MixedPrecision::kF16, rows, columns, source.data(), ld,
                          target.data() + offset, target_ld));
    ASSERT_EQ(target, expected) << rows << " x " << columns;
  }
}

}  // namespace
}  // namespace acceld::cuda
