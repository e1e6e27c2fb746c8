#include "backends/cpu/ops/onednn.h"

#include <dnnl.h>
#include <omp.h>

#include <vector>

#include "absl/hash/hash.h"
#include "backends/cpu/ops/onednn_product.h"
#include "backends/cpu/parallel.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld::cpu {
namespace {

OneDnnKey Key() {
  return {.direction = Conv2dDirection::kForward,
          .layout = OneDnnLayout::kBlocked,
          .shape = Conv2dShape::For({2, 16, 9, 8}, {32, 16, 3, 2}, {1, 2}, {1, 0}),
          .threads = 2};
}

// Each differs from Key() in one thing.
std::vector<OneDnnKey> OtherKeys() {
  std::vector<OneDnnKey> others;
  const auto add = [&](auto change) {
    others.push_back(Key());
    change(others.back());
  };
  add([](OneDnnKey& key) { key.direction = Conv2dDirection::kBackwardData; });
  add([](OneDnnKey& key) { key.direction = Conv2dDirection::kBackwardFilter; });
  add([](OneDnnKey& key) { key.layout = OneDnnLayout::kChannelsLast; });
  add([](OneDnnKey& key) { ++key.threads; });
  for (std::size_t i = 0; i < 4; ++i) {
    add([i](OneDnnKey& key) { ++key.shape.input[i]; });
    add([i](OneDnnKey& key) { ++key.shape.filter[i]; });
    add([i](OneDnnKey& key) { ++key.shape.output[i]; });
  }
  for (std::size_t i = 0; i < 2; ++i) {
    add([i](OneDnnKey& key) { ++key.shape.stride[i]; });
    add([i](OneDnnKey& key) { ++key.shape.padding[i]; });
  }
  return others;
}

TEST(OneDnnKey, EqualsOnlyWhatIsTheSameInEverything) {
  EXPECT_EQ(Key(), Key());
  EXPECT_EQ(absl::HashOf(Key()), absl::HashOf(Key()));
  for (const OneDnnKey& other : OtherKeys()) {
    EXPECT_NE(other, Key());
    EXPECT_NE(absl::HashOf(other), absl::HashOf(Key()));
  }
}

TEST(ProductKey, EqualsOnlyWhatIsTheSameInAllButValues) {
  const MatrixProduct<float> product{.transpose_a = Transpose::kNone,
                                     .transpose_b = Transpose::kNone,
                                     .m = 2,
                                     .n = 3,
                                     .k = 4,
                                     .alpha = 1,
                                     .a = nullptr,
                                     .lda = 5,
                                     .b = nullptr,
                                     .ldb = 6,
                                     .beta = 0,
                                     .c = nullptr,
                                     .ldc = 7};
  const ProductKey key(product);
  std::vector<ProductKey> others;
  const auto add = [&](auto change) {
    MatrixProduct<float> other = product;
    change(other);
    others.emplace_back(other);
  };
  add([](auto& other) { other.transpose_a = Transpose::kTranspose; });
  add([](auto& other) { other.transpose_b = Transpose::kTranspose; });
  for (const auto size :
       {&MatrixProduct<float>::m, &MatrixProduct<float>::n, &MatrixProduct<float>::k,
        &MatrixProduct<float>::lda, &MatrixProduct<float>::ldb, &MatrixProduct<float>::ldc}) {
    add([size](auto& other) { other.*size = 8; });
  }
  {
    const ScopedOpenMpThreads more(omp_get_max_threads() + 1);
    others.emplace_back(product);
  }
  for (const ProductKey& other : others) {
    EXPECT_NE(other, key);
    EXPECT_NE(absl::HashOf(other), absl::HashOf(key));
  }
  std::vector<float> data(1);
  MatrixProduct<float> elsewhere = product;
  elsewhere.a = elsewhere.b = elsewhere.c = data.data();
  EXPECT_EQ(ProductKey(elsewhere), key);
  EXPECT_EQ(absl::HashOf(ProductKey(elsewhere)), absl::HashOf(key));
}

TEST(OneDnnTakes, ShapesWhosePositionsFitInto32Bits) {
  EXPECT_TRUE(OneDnnTakes(Key().shape));
  EXPECT_TRUE(OneDnnTakes(Conv2dShape::For({1, 3, 1000, 1000}, {64, 3, 7, 7}, {2, 2}, {3, 3})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 1, 1, 70'000}, {1, 1, 1, 1})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 70'000, 1, 2}, {1, 70'000, 1, 1})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 16, 10'000, 10'000}, {1, 16, 3, 3})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 1, 9, 5'000}, {1, 1, 1, 1}, {1, 2'000})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 1, 9, 9}, {1, 1, 3, 3}, {1, 1}, {3, 0})));
}

// oneDNN takes milliseconds to make each of its primitives.
TEST(OneDnnPrimitives, AreNotMadeAnewForAnotherBetaOfABf16Product) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  constexpr std::int64_t kSize = 240;
  const auto a = random.Vector(kSize * kSize);
  std::vector<float> c(kSize * kSize);
  ops::GemmMixedPrecision op{
      .precision = MixedPrecision::kBf16, .m = kSize, .n = kSize, .k = kSize};
  op.lda = op.ldb = op.ldc = kSize;
  op.a = op.b = AddressOf(a);
  op.c = AddressOf(c);
  // Those with both factors, and with none.
  for (const float factor : {0.5F, 1.0F}) {
    op.alpha = op.beta = factor;
    ASSERT_THAT(device.Run(Op(op)), IsOk());
  }
  op.alpha = 0.75F;
  testing::internal::CaptureStdout();
  dnnl_set_verbose(2);
  for (const float beta : {0.25F, -3.0F, 1.0F}) {
    op.beta = beta;
    EXPECT_THAT(device.Run(Op(op)), IsOk());
  }
  dnnl_set_verbose(0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::Not(testing::HasSubstr("create:cache_miss")));
}

}  // namespace
}  // namespace acceld::cpu
