#include "backends/cpu/ops/onednn.h"

#include <vector>

#include "absl/hash/hash.h"
#include "gtest/gtest.h"

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

TEST(OneDnnTakes, ShapesWhosePositionsFitInto32Bits) {
  EXPECT_TRUE(OneDnnTakes(Key().shape));
  EXPECT_TRUE(OneDnnTakes(Conv2dShape::For({1, 3, 1000, 1000}, {64, 3, 7, 7}, {2, 2}, {3, 3})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 1, 1, 70'000}, {1, 1, 1, 1})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 70'000, 1, 2}, {1, 70'000, 1, 1})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 16, 10'000, 10'000}, {1, 16, 3, 3})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 1, 9, 5'000}, {1, 1, 1, 1}, {1, 2'000})));
  EXPECT_FALSE(OneDnnTakes(Conv2dShape::For({1, 1, 9, 9}, {1, 1, 3, 3}, {1, 1}, {3, 0})));
}

}  // namespace
}  // namespace acceld::cpu
