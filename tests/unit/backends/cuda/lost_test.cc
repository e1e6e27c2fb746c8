#include "backends/core/status.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;

class CudaLostTest : public CudaDeviceTest {
 protected:
  ~CudaLostTest() override { device_->Release(data_, kBytes); }

  static constexpr std::uint64_t kBytes = 3 << 20;
  std::byte* const data_ = Allocate(kBytes);
};

auto IsLost(std::string part) {
  return testing::AllOf(HasReason(reason::kDeviceLost),
                        IsStatus(absl::StatusCode::kInternal, std::move(part)));
}

TEST_F(CudaLostTest, TheOpThatRanIsNamed) {
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsOk());
  card_->LoseAt(1);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(),
              IsLost("The device was lost while memset ran: cuda device 0: "));
}

TEST_F(CudaLostTest, AllWorkOfAllQueuesAndAllThatComesLaterEndsWithTheLoss) {
  Bytes bytes(kBytes);
  const DeviceQueue other = NewQueue();
  card_->Hold();
  // The zeroing of the memory is the first piece of work that runs.
  card_->LoseAt(3);
  const Submitted work[] = {Fill(data_, 1, kBytes), Fill(data_, 2, kBytes), Fill(data_, 3, kBytes)};
  card_->Release();
  EXPECT_THAT(work[0].Status(), IsOk());
  EXPECT_THAT(work[1].Status(), IsLost("while memset ran"));
  EXPECT_THAT(work[2].Status(), IsLost("while memset ran"));
  EXPECT_THAT(Fill(other, data_, 5, kBytes).Status(), IsLost("while memset ran"));
  EXPECT_THAT(Read(bytes, data_).Status(), IsLost("while memset ran"));
  EXPECT_THAT(device_->Allocate(256, {}).status(), IsLost("while memset ran"));
  EXPECT_THAT(device_->AllocateHost(256).status(), IsLost("while memset ran"));
  EXPECT_THAT(device_->RegisterHost(nullptr, 4096), IsLost("while memset ran"));
  EXPECT_THAT(device_->CreateQueue(0).status(), IsLost("while memset ran"));
}

TEST_F(CudaLostTest, TheOldestWorkOfTheQueueIsTheOneThatRan) {
  card_->Hold();
  const Submitted fill = Fill(data_, 1, kBytes);
  Bytes bytes(kBytes);
  card_->FailCall("CopyToHost", 1, kDriverLost);
  const Submitted read = Read(bytes, data_);
  EXPECT_THAT(fill.Status(), IsLost("while memset ran"));
  EXPECT_THAT(read.Status(), IsLost("while memset ran"));
}

TEST_F(CudaLostTest, AlsoWhereACallFinds) {
  card_->FailCall("Memset", 1, kDriverLost);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("cudaErrorIllegalAddress (bad)"));
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("cudaErrorIllegalAddress (bad)"));
}

TEST_F(CudaLostTest, AlsoInTheMiddleOfAStagedCopy) {
  Bytes bytes(kBytes);
  card_->FailCall("CopyToHost", 2, kDriverLost);
  const Submitted read = Read(bytes, data_);
  const Submitted fill = Fill(data_, 1, kBytes);
  EXPECT_THAT(read.Status(), IsLost("while a copy from the device ran"));
  EXPECT_THAT(fill.Status(), IsLost("while a copy from the device ran"));
}

// What asks for work shows the work's error, and after one of those CUDA's context is gone.
TEST_F(CudaLostTest, AnyErrorIsALossWhereWorkIsAskedFor) {
  card_->FailCall("Query", 1, kDriverFailure);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(),
              IsLost("while memset ran: cuda device 0: cudaCall: cudaErrorUnknown (odd)."));
}

TEST_F(CudaLostTest, AlsoInTheMiddleOfACopy) {
  Bytes bytes(kBytes);
  card_->FailCall("Query", 1, kDriverOutOfMemory);
  EXPECT_THAT(Read(bytes, data_).Status(),
              IsLost("while a copy from the device ran: cuda device 0: cudaCall: cudaErrorMemory"));
}

TEST_F(CudaLostTest, AlsoWhereMemoryIsZeroed) {
  card_->FailCall("Synchronize", 1, kDriverFailure);
  EXPECT_THAT(device_->Allocate(256, {.openable = true}).status(), IsLost("cudaErrorUnknown"));
}

TEST_F(CudaLostTest, AlsoWhereTheWorkHasFailedAlready) {
  card_->FailCall("Memset", 1, kDriverFailure);
  card_->FailCall("Record", 2, kDriverLost);  // That of its end.
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("cudaErrorIllegalAddress (bad)"));
}

TEST_F(CudaLostTest, AlsoWhereTheWorkHasFailedAlreadyAndItsEndIsAskedFor) {
  card_->FailCall("Memset", 1, kDriverFailure);
  card_->FailCall("Query", 1, kDriverFailure);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("while memset ran"));
}

TEST_F(CudaLostTest, AlsoWhereItsEndIsWaitedFor) {
  card_->FailCall("Record", 2, kDriverFailure);
  card_->FailCall("Synchronize", 1, kDriverFailure);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("cudaErrorUnknown (odd)"));
}

TEST_F(CudaLostTest, AlsoInAnAllocation) {
  card_->FailCall("Allocate", 1, kDriverLost);
  EXPECT_THAT(device_->Allocate(256, {}).status(), IsLost("while an allocation ran"));
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("while an allocation ran"));
}

TEST_F(CudaLostTest, IsToldOfOnce) {
  std::vector<absl::Status> losses;
  device_->OnLost([&losses](const absl::Status& loss) { losses.push_back(loss); });
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsOk());
  EXPECT_EQ(losses.size(), 0u);
  card_->FailCall("Memset", 1, kDriverLost);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("while memset ran"));
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost("while memset ran"));
  EXPECT_THAT(losses, testing::ElementsAre(IsLost("while memset ran")));
}

TEST_F(CudaLostTest, IsToldOfAtOnceWhereItHasHappened) {
  card_->FailCall("Memset", 1, kDriverLost);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost(""));
  std::vector<absl::Status> losses;
  device_->OnLost([&losses](const absl::Status& loss) { losses.push_back(loss); });
  EXPECT_THAT(losses, testing::ElementsAre(IsLost("while memset ran")));
}

TEST_F(CudaLostTest, NoMemoryIsFreeThen) {
  card_->FailCall("Memset", 1, kDriverLost);
  EXPECT_THAT(Fill(data_, 1, kBytes).Status(), IsLost(""));
  EXPECT_EQ(device_->memory().free_bytes, 0u);
  EXPECT_EQ(device_->memory().total_bytes, device_->info().total_memory_bytes);
}

}  // namespace
}  // namespace acceld
