#include "backends/memory/memory_budget.h"

#include "backends/core/status.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

TEST(MemoryBudgetTest, CountsWhatAllocationsTakeUpToItsLimit) {
  MemoryBudget budget("Device 7", 1024);
  EXPECT_THAT(budget.Reserve(257), IsOk());
  EXPECT_EQ(budget.used_bytes(), 512u);
  const absl::Status refused = budget.Reserve(513);
  EXPECT_THAT(refused, IsStatus(absl::StatusCode::kResourceExhausted,
                                "Device 7 has no 513 bytes left: 512 of its limit of 1024 bytes "
                                "are in use."));
  EXPECT_THAT(refused, HasReason(reason::kDeviceOutOfMemory));
  EXPECT_EQ(budget.left_bytes(), 512u);
  EXPECT_THAT(budget.Reserve(512), IsOk());
  budget.Release(257);
  EXPECT_EQ(budget.used_bytes(), 512u);
}

TEST(MemoryBudgetTest, SizesThatWouldWrapAreRefused) {
  MemoryBudget budget("Device 7", ~std::uint64_t{0});
  EXPECT_THAT(budget.Reserve(1), IsOk());
  for (const std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 62}) {
    EXPECT_THAT(budget.Reserve(bytes), IsStatus(absl::StatusCode::kResourceExhausted, "Device 7"));
    EXPECT_THAT(budget.CheckWorkspace(bytes),
                IsStatus(absl::StatusCode::kResourceExhausted, "Device 7"));
  }
}

TEST(MemoryBudgetTest, TellsWhatIsLeftAfterEachReservation) {
  std::uint64_t left_bytes = 0;
  MemoryBudget budget("Device 7", 1024, [&](std::uint64_t bytes) { left_bytes = bytes; });
  EXPECT_THAT(budget.Reserve(257), IsOk());
  EXPECT_EQ(left_bytes, 512u);
  EXPECT_THAT(budget.Reserve(1000), IsStatus(absl::StatusCode::kResourceExhausted, "1000"));
  EXPECT_THAT(budget.Reserve(512), IsOk());
  EXPECT_EQ(left_bytes, 0u);
}

TEST(MemoryBudgetTest, WorkspaceHasToFitBesideAllocationsAndNotBesideOtherWorkspace) {
  MemoryBudget budget("Device 7", 1024);
  EXPECT_THAT(budget.Reserve(512), IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(budget.CheckWorkspace(512), IsOk());
    budget.AddWorkspace(512);
  }
  EXPECT_THAT(budget.CheckWorkspace(513),
              IsStatus(absl::StatusCode::kResourceExhausted, "512 of its limit of 1024"));
  EXPECT_EQ(budget.used_bytes(), 1536u);
  EXPECT_EQ(budget.left_bytes(), 0u);
  // Nor does an allocation fail for what ends by itself.
  EXPECT_THAT(budget.Reserve(512), IsOk());
  EXPECT_THAT(budget.CheckWorkspace(1), IsStatus(absl::StatusCode::kResourceExhausted, "1024 of"));
  budget.RemoveWorkspace(512);
  budget.RemoveWorkspace(512);
  EXPECT_EQ(budget.used_bytes(), 1024u);
}

}  // namespace
}  // namespace acceld
