#include "backends/cpu/block_pool.h"

#include "backends/cpu/zeroed_memory.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

constexpr std::uint64_t kBlock = BlockPool::kMinBlockBytes;

// Without blocks of its own, a pool only takes what the system gave.
std::byte* NewBlock(std::uint64_t bytes = kBlock) { return AllocateZeroed(bytes); }

TEST(BlockPoolTest, GivesBackWhatItWasGivenLast) {
  BlockPool pool(4 * kBlock);
  EXPECT_EQ(pool.Take(kBlock), nullptr);
  std::byte* const first = NewBlock();
  std::byte* const second = NewBlock();
  pool.Put(first, kBlock);
  pool.Put(second, kBlock);
  EXPECT_EQ(pool.held_bytes(), 2 * kBlock);
  EXPECT_EQ(pool.Take(kBlock), second);
  EXPECT_EQ(pool.Take(kBlock), first);
  EXPECT_EQ(pool.Take(kBlock), nullptr);
  EXPECT_EQ(pool.held_bytes(), 0u);
  pool.Put(first, kBlock);
  pool.Put(second, kBlock);
}

TEST(BlockPoolTest, KeepsSizesApart) {
  BlockPool pool(16 * kBlock);
  std::byte* const small = NewBlock(kBlock);
  std::byte* const large = NewBlock(3 * kBlock);
  pool.Put(small, kBlock);
  pool.Put(large, 3 * kBlock);
  EXPECT_EQ(pool.Take(2 * kBlock), nullptr);
  EXPECT_EQ(pool.Take(4 * kBlock), nullptr);
  EXPECT_EQ(pool.Take(3 * kBlock), large);
  EXPECT_EQ(pool.Take(kBlock), small);
  pool.Put(small, kBlock);
  pool.Put(large, 3 * kBlock);
}

TEST(BlockPoolTest, GivesTheOldestBackToMakeRoom) {
  BlockPool pool(4 * kBlock);
  std::byte* const oldest = NewBlock(2 * kBlock);
  std::byte* const middle = NewBlock(kBlock);
  std::byte* const newest = NewBlock(3 * kBlock);
  pool.Put(oldest, 2 * kBlock);
  pool.Put(middle, kBlock);
  pool.Put(newest, 3 * kBlock);
  EXPECT_EQ(pool.held_bytes(), 4 * kBlock);
  EXPECT_EQ(pool.Take(2 * kBlock), nullptr);
  EXPECT_EQ(pool.Take(kBlock), middle);
  EXPECT_EQ(pool.Take(3 * kBlock), newest);
  pool.Put(middle, kBlock);
  pool.Put(newest, 3 * kBlock);
}

TEST(BlockPoolTest, KeepsNoSmallOnesAndNoneBeyondItsSize) {
  BlockPool pool(4 * kBlock);
  std::byte* const kept = NewBlock();
  pool.Put(kept, kBlock);
  pool.Put(NewBlock(kBlock / 2), kBlock / 2);
  pool.Put(NewBlock(5 * kBlock), 5 * kBlock);
  EXPECT_EQ(pool.held_bytes(), kBlock);
}

TEST(BlockPoolTest, ShrinksToWhatItIsToldAndWorksOn) {
  BlockPool pool(4 * kBlock);
  for (int i = 0; i < 4; ++i) pool.Put(NewBlock(), kBlock);
  pool.Shrink(4 * kBlock);
  EXPECT_EQ(pool.held_bytes(), 4 * kBlock);
  pool.Shrink(3 * kBlock - 1);
  EXPECT_EQ(pool.held_bytes(), 2 * kBlock);
  pool.Shrink(0);
  EXPECT_EQ(pool.held_bytes(), 0u);
  EXPECT_EQ(pool.Take(kBlock), nullptr);
  pool.Put(NewBlock(), kBlock);
  EXPECT_EQ(pool.held_bytes(), kBlock);
}

TEST(BlockPoolTest, RoundsSizesUpByASixteenthAtMost) {
  EXPECT_EQ(BlockPool::BlockBytes(1), 256u);
  EXPECT_EQ(BlockPool::BlockBytes(kBlock - 1), kBlock);
  EXPECT_EQ(BlockPool::BlockBytes(kBlock), kBlock);
  EXPECT_EQ(BlockPool::BlockBytes(kBlock + 1), kBlock + 4096);
  EXPECT_EQ(BlockPool::BlockBytes(std::uint64_t{1} << 62), std::uint64_t{1} << 62);
  for (std::uint64_t bytes = kBlock; bytes < std::uint64_t{1} << 61; bytes += bytes / 7 + 1) {
    const std::uint64_t block = BlockPool::BlockBytes(bytes);
    EXPECT_GE(block, bytes);
    EXPECT_LE(block - bytes, bytes / 16);
    EXPECT_EQ(BlockPool::BlockBytes(block), block);
  }
}

}  // namespace
}  // namespace acceld
