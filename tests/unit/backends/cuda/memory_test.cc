#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kMiB = 1 << 20;

// On a card of 64 MiB.
using CudaMemoryTest = CudaDeviceTest;

TEST_F(CudaMemoryTest, FreshMemoryReadsAsZeroInEveryQueue) {
  for (const DeviceQueue queue : {queue_, NewQueue()}) {
    for (int i = 0; i < 3; ++i) {
      std::byte* const data = Allocate(1000);
      Bytes bytes(1000, 1);
      EXPECT_THAT(Read(queue, bytes, data).Status(), IsOk());
      EXPECT_EQ(bytes, Bytes(1000));
      EXPECT_THAT(Fill(queue, data, 9, 1000).Status(), IsOk());
      device_->Release(data, 1000);
    }
  }
}

TEST_F(CudaMemoryTest, WaitsForFreshMemoryOnce) {
  std::byte* const data = Allocate(256);
  EXPECT_THAT(Fill(data, 1, 256).Status(), IsOk());
  EXPECT_THAT(Fill(data, 2, 256).Status(), IsOk());
  EXPECT_EQ(card_->calls("Wait"), 1);
  device_->Release(data, 256);
}

TEST_F(CudaMemoryTest, ReleasedMemoryStaysInThePoolAndIsUsedAgain) {
  device_->Release(Allocate(40 * kMiB), 40 * kMiB);
  std::byte* const data = Allocate(kMiB);
  EXPECT_THAT(Fill(data, 1, kMiB).Status(), IsOk());
  EXPECT_EQ(card_->pool_bytes(), 41 * kMiB);
  EXPECT_EQ(device_->memory().free_bytes, 63 * kMiB);
  std::byte* const again = Allocate(40 * kMiB);
  EXPECT_EQ(card_->calls("TrimPool"), 0);
  device_->Release(again, 40 * kMiB);
  device_->Release(data, kMiB);
}

TEST_F(CudaMemoryTest, TrimsThePoolOnceWhereThereIsNoMoreMemory) {
  device_->Release(Allocate(40 * kMiB), 40 * kMiB);
  std::byte* const data = Allocate(50 * kMiB);
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  EXPECT_EQ(card_->pool_bytes(), 50 * kMiB);
  device_->Release(data, 50 * kMiB);
}

TEST_F(CudaMemoryTest, IsOutOfMemoryWhereTrimmingDoesNotHelpAndServesTheNextSmallerRequest) {
  std::byte* const first = Allocate(40 * kMiB);
  EXPECT_THAT(device_->Allocate(30 * kMiB, {}).status(),
              IsStatus(absl::StatusCode::kResourceExhausted,
                       "An allocation of 31457280 bytes exceeds what cuda device 0 (fake card) "
                       "has: 25165824 bytes free of 67108864."));
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  EXPECT_EQ(card_->calls("Allocate"), 3);
  std::byte* const second = Allocate(20 * kMiB);
  device_->Release(first, 40 * kMiB);
  device_->Release(second, 20 * kMiB);
}

TEST_F(CudaMemoryTest, RefusesMoreThanTheCardHas) {
  for (const std::uint64_t bytes : {65 * kMiB, ~std::uint64_t{0}}) {
    EXPECT_THAT(device_->Allocate(bytes, {}).status(),
                IsStatus(absl::StatusCode::kResourceExhausted, "bytes free of 67108864"));
  }
  EXPECT_EQ(card_->calls("Allocate"), 0);
}

TEST_F(CudaMemoryTest, ReportsWhatElseFails) {
  for (const char* call : {"Allocate", "Memset", "Record"}) {
    card_->FailCall(call, 1, kDriverFailure);
    EXPECT_THAT(device_->Allocate(256, {}).status(),
                IsStatus(absl::StatusCode::kInternal, "cudaErrorUnknown (odd)"))
        << call;
  }
  std::byte* const data = Allocate(kMiB);
  EXPECT_THAT(Fill(data, 1, kMiB).Status(), IsOk());
  EXPECT_EQ(device_->memory().free_bytes, 63 * kMiB);
  device_->Release(data, kMiB);
  card_->FailCall("AllocateHost", 1, kDriverOutOfMemory);
  EXPECT_THAT(device_->AllocateHost(1 << 20).status(),
              IsStatus(absl::StatusCode::kResourceExhausted, "cudaErrorMemory (full)"));
}

}  // namespace
}  // namespace acceld
