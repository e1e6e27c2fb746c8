// The same call gives the same bits: alone, again, on any stream, or while others keep the device
// busy. Sizes are odd or otherwise no multiple of a vector or a block, where ways to split differ.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class DeterminismTest : public ConformanceTest {
 protected:
  // `run` submits an op to a stream; it writes `count` elements of T at `output`.
  template <typename T>
  void ExpectSameBits(const std::function<absl::Status(Stream)>& run, Address output,
                      std::size_t count) {
    const auto result = [&](Stream stream) {
      EXPECT_TRUE(IsOk(backend().Memset(output, 0, count * sizeof(T), stream)));
      EXPECT_TRUE(IsOk(run(stream)));
      return Download<T>(output, count, stream);
    };
    const std::vector<T> alone = result(kDefaultStream);
    EXPECT_TRUE(SameBits(result(kDefaultStream), alone)) << "again";

    const Stream stream = NewStream();
    KeepBusy(stream);
    EXPECT_TRUE(SameBits(result(stream), alone)) << "behind other work";

    std::atomic<bool> stop = false;
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i) {
      others.emplace_back([&, small = Alloc(4 * 4096), one = Alloc(4)] {
        const Stream mine = NewStream();
        while (!stop) {
          EXPECT_TRUE(IsOk(backend().Unary(
              {.op = UnaryOp::kExp, .n = 4096, .input = small, .output = small}, mine)));
          EXPECT_TRUE(IsOk(backend().Memset(one, 1, 4, mine)));
          EXPECT_TRUE(IsOk(backend().SynchronizeStream(mine)));
        }
      });
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(SameBits(result(i % 2 == 0 ? kDefaultStream : stream), alone)) << "among others";
    }
    stop = true;
    for (std::thread& other : others) other.join();
  }

  template <typename T>
  void ExpectSameProduct(std::int64_t m, std::int64_t n, std::int64_t k) {
    SCOPED_TRACE(testing::Message() << Name(kTypeOf<T>) << " " << m << " " << n << " " << k);
    const auto count = static_cast<std::size_t>(m * n);
    const Address a = Upload(random_.Vector<T>(m * k));
    const Address b = Upload(random_.Vector<T>(k * n));
    const Address c = Alloc(count * sizeof(T));
    ExpectSameBits<T>(
        [&](Stream stream) {
          return backend().Gemm({.type = kTypeOf<T>,
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .a = a,
                                 .lda = m,
                                 .b = b,
                                 .ldb = k,
                                 .c = c,
                                 .ldc = m},
                                stream);
        },
        c, count);
  }

  void ExpectSameProducts(std::int64_t m, std::int64_t n, std::int64_t k) {
    ExpectSameProduct<float>(m, n, k);
    ExpectSameProduct<double>(m, n, k);
  }
};

TEST_F(DeterminismTest, SmallGemm) {
  for (const std::int64_t size : {1, 7, 31, 65}) ExpectSameProducts(size, size, size);
}

TEST_F(DeterminismTest, GemmOf193) { ExpectSameProducts(193, 193, 193); }

TEST_F(DeterminismTest, GemmOf1000) { ExpectSameProducts(1000, 1000, 1000); }

TEST_F(DeterminismTest, GemmOfFewVectors) {
  ExpectSameProducts(1, 1009, 1013);
  ExpectSameProducts(1013, 3, 1009);
  ExpectSameProducts(1, 1, 100003);
}

TEST_F(DeterminismTest, GemmMixedPrecision) {
  const std::int64_t size = 193;
  const Address a = Upload(random_.Floats(size * size));
  const Address c = Alloc(size * size * 4);
  ExpectSameBits<float>(
      [&](Stream stream) {
        return backend().GemmMixedPrecision({.precision = MixedPrecision::kBf16,
                                             .m = size,
                                             .n = size,
                                             .k = size,
                                             .a = a,
                                             .lda = size,
                                             .b = a,
                                             .ldb = size,
                                             .c = c,
                                             .ldc = size},
                                            stream);
      },
      c, size * size);
}

TEST_F(DeterminismTest, BatchedGemm) {
  const std::int64_t size = 37;
  const std::int64_t batch = 29;
  const Address a = Upload(random_.Floats(size * size * batch));
  const Address c = Alloc(size * size * batch * 4);
  ExpectSameBits<float>(
      [&](Stream stream) {
        return backend().BatchedGemm({.m = size,
                                      .n = size,
                                      .k = size,
                                      .a = a,
                                      .lda = size,
                                      .stride_a = size * size,
                                      .b = a,
                                      .ldb = size,
                                      .stride_b = size * size,
                                      .c = c,
                                      .ldc = size,
                                      .stride_c = size * size,
                                      .batch = batch},
                                     stream);
      },
      c, size * size * batch);
}

TEST_F(DeterminismTest, Convolutions) {
  const auto shape = Conv2dShape::For({5, 7, 29, 31}, {11, 7, 3, 3}, {2, 1}, {1, 1});
  const Address input = Upload(random_.Floats(ElementCount(shape.input)));
  const Address filter = Upload(random_.Floats(ElementCount(shape.filter)));
  const Address output = Upload(random_.Floats(ElementCount(shape.output)));
  const auto room = [&](const std::array<std::int64_t, 4>& sizes) {
    return Alloc(static_cast<std::uint64_t>(ElementCount(sizes)) * 4);
  };
  const Address forward = room(shape.output);
  ExpectSameBits<float>(
      [&](Stream stream) {
        return backend().Conv2dForward(
            {.shape = shape, .input = input, .filter = filter, .output = forward}, stream);
      },
      forward, static_cast<std::size_t>(ElementCount(shape.output)));
  const Address data = room(shape.input);
  ExpectSameBits<float>(
      [&](Stream stream) {
        return backend().Conv2dBackwardData(
            {.shape = shape, .filter = filter, .output_gradient = output, .input_gradient = data},
            stream);
      },
      data, static_cast<std::size_t>(ElementCount(shape.input)));
  const Address weights = room(shape.filter);
  ExpectSameBits<float>(
      [&](Stream stream) {
        return backend().Conv2dBackwardFilter(
            {.shape = shape, .input = input, .output_gradient = output, .filter_gradient = weights},
            stream);
      },
      weights, static_cast<std::size_t>(ElementCount(shape.filter)));
}

TEST_F(DeterminismTest, Attention) {
  ops::Attention op{.batch = 3,
                    .heads = 5,
                    .seq_q = 61,
                    .seq_kv = 67,
                    .head_dim = 19,
                    .scale = 0.2f,
                    .causal = true};
  const std::int64_t count = op.batch * op.heads * op.seq_q * op.head_dim;
  op.q = Upload(random_.Floats(count));
  op.k = op.v = Upload(random_.Floats(op.batch * op.heads * op.seq_kv * op.head_dim));
  op.output = Alloc(static_cast<std::uint64_t>(count) * 4);
  ExpectSameBits<float>([&](Stream stream) { return backend().Attention(op, stream); }, op.output,
                        static_cast<std::size_t>(count));
}

TEST_F(DeterminismTest, Sums) {
  const std::int64_t rows = 193;
  const std::int64_t columns = 1009;
  const Address input = Upload(random_.Floats(rows * columns));
  const Address output = Alloc(columns * 4);
  for (const std::int64_t axis : {0, 1}) {
    ExpectSameBits<float>(
        [&](Stream stream) {
          return backend().Reduce({.op = ReduceOp::kSum,
                                   .shape = {rows, columns},
                                   .axis = axis,
                                   .input = input,
                                   .output = output},
                                  stream);
        },
        output, axis == 0 ? columns : rows);
  }
  const std::int64_t all = rows * columns;
  ExpectSameBits<float>(
      [&](Stream stream) {
        return backend().Reduce(
            {.op = ReduceOp::kMean, .shape = {all}, .axis = 0, .input = input, .output = output},
            stream);
      },
      output, 1);
}

TEST_F(DeterminismTest, Softmax) {
  const std::int64_t rows = 193;
  const std::int64_t columns = 1009;
  const Address input = Upload(random_.Floats(rows * columns, -5, 5));
  const Address output = Alloc(rows * columns * 4);
  for (const std::int64_t axis : {0, 1}) {
    ExpectSameBits<float>(
        [&](Stream stream) {
          return backend().Softmax(
              {.shape = {rows, columns}, .axis = axis, .input = input, .output = output}, stream);
        },
        output, rows * columns);
  }
}

TEST_F(DeterminismTest, Elementwise) {
  const std::int64_t n = 100003;
  const Address input = Upload(random_.Floats(n, -5, 5));
  const Address output = Alloc(n * 4);
  for (UnaryOp op : {UnaryOp::kExp, UnaryOp::kTanh, UnaryOp::kSigmoid}) {
    ExpectSameBits<float>(
        [&](Stream stream) {
          return backend().Unary({.op = op, .n = n, .input = input, .output = output}, stream);
        },
        output, n);
  }
}

}  // namespace
}  // namespace acceld::conformance
