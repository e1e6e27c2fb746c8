#include "client/staging.h"

#include <array>
#include <set>

#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(StagingTest, SlotsCoverTheMemoryAndDoNotOverlap) {
  std::array<std::byte, 800> memory;
  Staging staging(7, absl::MakeSpan(memory), nullptr);
  EXPECT_EQ(staging.host(), 7u);
  std::set<std::uint64_t> offsets;
  while (const auto slot = staging.TryTake()) {
    EXPECT_EQ(slot->bytes.size(), staging.slot_bytes());
    EXPECT_EQ(slot->bytes.data(), memory.data() + slot->offset);
    EXPECT_LE(slot->offset + slot->bytes.size(), memory.size());
    EXPECT_EQ(slot->offset % staging.slot_bytes(), 0u);
    EXPECT_TRUE(offsets.insert(slot->offset).second);
  }
  EXPECT_EQ(offsets.size() * staging.slot_bytes(), memory.size());
  EXPECT_GE(offsets.size(), 2u);
}

TEST(StagingTest, ASlotThatIsTakenComesBackFirst) {
  std::array<std::byte, 800> memory;
  Staging staging(1, absl::MakeSpan(memory), nullptr);
  const Staging::Slot first = *staging.TryTake();
  const Staging::Slot second = *staging.TryTake();
  EXPECT_NE(first.offset, second.offset);
  staging.Return(first);
  EXPECT_EQ(staging.TryTake()->offset, first.offset);
}

TEST(StagingTest, NothingIsThereOnceAllIsTaken) {
  std::array<std::byte, 8> memory;
  Staging staging(1, absl::MakeSpan(memory), nullptr);
  std::optional<Staging::Slot> last;
  while (const auto slot = staging.TryTake()) last = slot;
  EXPECT_FALSE(staging.TryTake().has_value());
  staging.Return(*last);
  EXPECT_TRUE(staging.TryTake().has_value());
}

TEST(StagingTest, KeepsWhatOwnsTheMemory) {
  std::array<std::byte, 8> memory;
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owner;
  {
    const Staging staging(1, absl::MakeSpan(memory), std::move(owner));
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(StagingTest, MemoryThatDoesNotDivideEvenlyIsNotOverrun) {
  for (std::size_t bytes = 1; bytes < 100; ++bytes) {
    std::vector<std::byte> memory(bytes);
    Staging staging(1, absl::MakeSpan(memory), nullptr);
    std::size_t slots = 0;
    for (; const auto slot = staging.TryTake(); ++slots) {
      ASSERT_LE(slot->offset + slot->bytes.size(), bytes);
    }
    EXPECT_GT(slots, 0u);
  }
}

}  // namespace
}  // namespace acceld
