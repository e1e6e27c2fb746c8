#include "backends/memory/host_memory.h"

#include <cstdlib>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

class HostMemoryTest : public ::testing::Test {
 protected:
  ~HostMemoryTest() override {
    memory_.reset();
    EXPECT_EQ(live_bytes_, 0u);
  }

  std::uint64_t live_bytes_ = 0;
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(std::uint64_t bytes) {
    if (bytes > 1024) return OutOfMemory("The host is full.");
    live_bytes_ += bytes;
    return std::shared_ptr<std::byte>(static_cast<std::byte*>(std::malloc(bytes)),
                                      [this, bytes](std::byte* data) {
                                        live_bytes_ -= bytes;
                                        std::free(data);
                                      });
  }

  std::optional<HostMemory> memory_{std::in_place,
                                    [this](std::uint64_t bytes) { return Allocate(bytes); }};
};

TEST_F(HostMemoryTest, AllocGivesWhatWasAskedForAndFreeGivesItBack) {
  const absl::Span<std::byte> block = *memory_->Alloc(64);
  EXPECT_EQ(block.size(), 64u);
  EXPECT_THAT(memory_->Free(block.data()), IsOk());
  EXPECT_EQ(live_bytes_, 0u);
}

TEST_F(HostMemoryTest, RefusesZeroBytes) {
  EXPECT_THAT(memory_->Alloc(0).status(), IsInvalid("AllocHost of 0 bytes"));
}

TEST_F(HostMemoryTest, PassesOnThatThereIsNoMore) {
  EXPECT_EQ(memory_->Alloc(2048).status(), OutOfMemory("The host is full."));
}

TEST_F(HostMemoryTest, FreeTakesOnlyTheStartOfALiveBlock) {
  const absl::Span<std::byte> block = *memory_->Alloc(64);
  EXPECT_THAT(memory_->Free(block.data() + 1), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(memory_->Free(nullptr), HasReason(reason::kUnknownAddress));
  EXPECT_THAT(memory_->Free(block.data()), IsOk());
  EXPECT_THAT(memory_->Free(block.data()), HasReason(reason::kUnknownAddress));
}

TEST_F(HostMemoryTest, FindsEveryRangeInsideABlockAndNoOther) {
  const absl::Span<std::byte> block = *memory_->Alloc(64);
  EXPECT_NE(memory_->Find(block), nullptr);
  EXPECT_NE(memory_->Find(block.first(1)), nullptr);
  EXPECT_NE(memory_->Find(block.last(1)), nullptr);
  EXPECT_EQ(memory_->Find({block.data(), 65}), nullptr);
  EXPECT_EQ(memory_->Find({block.data() + 63, 2}), nullptr);
  EXPECT_EQ(memory_->Find({block.data() - 1, 2}), nullptr);
  EXPECT_EQ(memory_->Find({block.data() + 1, ~std::size_t{0}}), nullptr);
  EXPECT_EQ(memory_->Find({}), nullptr);
}

TEST_F(HostMemoryTest, FindsTheBlockAmongMany) {
  std::vector<absl::Span<std::byte>> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(*memory_->Alloc(32));
  for (const absl::Span<std::byte> block : blocks) {
    EXPECT_EQ(memory_->Find(block.last(1)).get(), block.data());
  }
  EXPECT_THAT(memory_->Free(blocks[4].data()), IsOk());
  EXPECT_EQ(memory_->Find(blocks[4]), nullptr);
}

TEST_F(HostMemoryTest, WhatFindGaveOutKeepsTheMemoryOfAFreedBlock) {
  const absl::Span<std::byte> block = *memory_->Alloc(64);
  std::shared_ptr<const void> kept = memory_->Find(block);
  EXPECT_THAT(memory_->Free(block.data()), IsOk());
  EXPECT_EQ(live_bytes_, 64u);
  EXPECT_EQ(memory_->Find(block), nullptr);
  kept.reset();
  EXPECT_EQ(live_bytes_, 0u);
}

}  // namespace
}  // namespace acceld
