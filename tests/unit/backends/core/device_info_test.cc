#include "backends/core/device_info.h"

#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(CapabilitiesTest, DefaultIsTheConservativeHostProfile) {
  const Capabilities host;
  EXPECT_FALSE(host.fp16 || host.bf16 || host.fp8 || host.tensor_cores || host.peer_access ||
               host.cluster_launch || host.async_copy);
  EXPECT_TRUE(host.unified_memory);
  EXPECT_EQ(host.max_threads_per_block, 1024);
  EXPECT_EQ(host.max_shared_memory_per_block_bytes, 48 * 1024);
  EXPECT_EQ(host.warp_size, 1);
}

TEST(CapabilitiesTest, AnyReducedFormatSupportsMixedPrecision) {
  EXPECT_FALSE(Capabilities{}.SupportsMixedPrecision());
  EXPECT_TRUE(Capabilities{.fp16 = true}.SupportsMixedPrecision());
  EXPECT_TRUE(Capabilities{.bf16 = true}.SupportsMixedPrecision());
  EXPECT_TRUE(Capabilities{.fp8 = true}.SupportsMixedPrecision());
}

TEST(CapabilitiesTest, TensorCoresWantAllSizesDivisibleBy16) {
  const Capabilities with{.tensor_cores = true};
  EXPECT_TRUE(with.CanUseTensorCores(16, 32, 48));
  EXPECT_FALSE(with.CanUseTensorCores(17, 32, 48));
  EXPECT_FALSE(with.CanUseTensorCores(16, 40, 48));
  EXPECT_FALSE(with.CanUseTensorCores(16, 32, 8));
  EXPECT_FALSE(Capabilities{}.CanUseTensorCores(16, 32, 48));
}

TEST(RecommendedTileTest, WithoutTensorCoresFollowsTheSmallestSize) {
  const Capabilities host;
  const Tile small{16, 16, 16}, middle{64, 64, 16}, large{128, 128, 8};
  EXPECT_EQ(RecommendedTile(host, 64, 4096, 4096), small);
  EXPECT_EQ(RecommendedTile(host, 4096, 65, 4096), middle);
  EXPECT_EQ(RecommendedTile(host, 4096, 4096, 512), middle);
  EXPECT_EQ(RecommendedTile(host, 513, 513, 513), large);
}

TEST(RecommendedTileTest, TensorCoresGetTheirOwnTiles) {
  const Capabilities with{.tensor_cores = true};
  const Tile middle{64, 64, 16}, large{128, 128, 32};
  EXPECT_EQ(RecommendedTile(with, 16, 4096, 4096), middle);
  EXPECT_EQ(RecommendedTile(with, 496, 4096, 4096), middle);
  EXPECT_EQ(RecommendedTile(with, 4096, 512, 4096), large);
}

TEST(RecommendedTileTest, TensorCoresWithOddSizesCountForNothing) {
  const Capabilities with{.tensor_cores = true};
  EXPECT_EQ(RecommendedTile(with, 1025, 1024, 1024), (Tile{128, 128, 8}));
  EXPECT_EQ(RecommendedTile(with, 33, 1024, 1024), (Tile{16, 16, 16}));
}

}  // namespace
}  // namespace acceld
