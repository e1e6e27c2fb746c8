#include "tests/testing/cuda/fake_cuda_driver.h"

#include <string>
#include <vector>

#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/kernels/reduce_rows.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two streams and 1024 bytes allocated in the first.
class FakeCudaDriverTest : public testing::Test {
 protected:
  FakeCudaDriverTest() {
    EXPECT_TRUE(card_->Init().ok());
    first_ = card_->CreateStream(0).value;
    second_ = card_->CreateStream(0).value;
    event_ = card_->CreateEvent().value;
    data_ = card_->Allocate(first_, 1024).value;
  }

  void Fill(cuda::StreamHandle stream, std::uint8_t value = 1) {
    EXPECT_TRUE(card_->Memset(stream, data_, value, 1024).ok());
  }
  // By a kernel.
  void Negate(cuda::StreamHandle stream, std::int64_t n = 256) {
    auto* const data = reinterpret_cast<float*>(data_);
    EXPECT_TRUE(card_->Launch(stream, cuda::UnaryKernel(UnaryOp::kNeg, n, data, data)).ok());
  }
  void Record(cuda::StreamHandle stream) { EXPECT_TRUE(card_->Record(event_, stream).ok()); }

  std::vector<std::string> misuses_;
  std::unique_ptr<FakeCudaDriver> card_ = std::make_unique<FakeCudaDriver>(
      FakeCudaOptions{.on_misuse = [this](const std::string& what) { misuses_.push_back(what); }});
  cuda::StreamHandle first_{};
  cuda::StreamHandle second_{};
  cuda::EventHandle event_{};
  std::byte* data_ = nullptr;
};

TEST_F(FakeCudaDriverTest, RunsNothingThatNobodyAsksFor) {
  Fill(first_);
  Record(first_);
  EXPECT_NE(data_[0], std::byte{1});
  EXPECT_TRUE(card_->Query(event_).ok());
  EXPECT_EQ(data_[0], std::byte{1});
}

TEST_F(FakeCudaDriverTest, RunsWhatAStreamWaitsFor) {
  Fill(first_, 1);
  Record(first_);
  EXPECT_TRUE(card_->Wait(second_, event_).ok());
  Fill(second_, 2);
  EXPECT_TRUE(card_->Synchronize(second_).ok());
  EXPECT_TRUE(card_->Synchronize(first_).ok());
  EXPECT_EQ(data_[0], std::byte{2});
  EXPECT_THAT(misuses_, IsEmpty());
}

TEST_F(FakeCudaDriverTest, ReportsMemoryUsedInAStreamThatIsNotOrdered) {
  Fill(first_);
  Fill(second_);
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("not ordered behind its last use")));
}

TEST_F(FakeCudaDriverTest, AHostThatHasSeenWorkDoneOrdersIt) {
  Fill(first_);
  Record(first_);
  EXPECT_TRUE(card_->Query(event_).ok());
  Fill(second_);
  EXPECT_THAT(misuses_, IsEmpty());
}

TEST_F(FakeCudaDriverTest, ReportsUseAfterFree) {
  EXPECT_TRUE(card_->Free(first_, data_).ok());
  Fill(first_);
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("1024 bytes that are no device memory")));
}

TEST_F(FakeCudaDriverTest, ReportsAReductionWhoseArraysAreTooSmall) {
  float* const input = reinterpret_cast<float*>(data_);
  std::byte* const workspace = card_->Allocate(first_, 256).value;
  cuda::ReductionCall call{
      .rows = 2, .length = 100, .input = input, .output = input + 200, .workspace = workspace};
  EXPECT_TRUE(card_->Reduce(first_, call).ok());
  EXPECT_THAT(misuses_, IsEmpty());
  call.length = 200;
  EXPECT_TRUE(card_->Reduce(first_, call).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("Reduce names 1600 bytes")));
  call.length = 100;
  call.output = input + 255;
  EXPECT_TRUE(card_->Reduce(first_, call).ok());
  EXPECT_THAT(misuses_.back(), HasSubstr("Reduce names 8 bytes"));
  call.output = input + 200;
  call.workspace = workspace + 1;
  EXPECT_TRUE(card_->Reduce(first_, call).ok());
  EXPECT_THAT(misuses_.back(), HasSubstr("Reduce names 256 bytes"));
  EXPECT_TRUE(card_->Free(first_, workspace).ok());
}

TEST_F(FakeCudaDriverTest, ReportsAKernelInAStreamThatIsNotOrdered) {
  Fill(first_);
  Negate(second_);
  EXPECT_THAT(misuses_, Contains(HasSubstr("Launch is written by a stream that is not ordered")));
  EXPECT_THAT(misuses_, Contains(HasSubstr("Launch is read by a stream that is not ordered")));
}

TEST_F(FakeCudaDriverTest, TakesAKernelBehindWhatItWaitsFor) {
  Fill(first_);
  Record(first_);
  EXPECT_TRUE(card_->Wait(second_, event_).ok());
  Negate(second_);
  EXPECT_THAT(misuses_, IsEmpty());
}

TEST_F(FakeCudaDriverTest, ReportsAKernelOnFreedMemory) {
  EXPECT_TRUE(card_->Free(first_, data_).ok());
  Negate(first_);
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("Launch names 1024 bytes that are no device memory"),
                                    HasSubstr("Launch names 1024 bytes")));
}

TEST_F(FakeCudaDriverTest, ReportsAKernelBeyondItsMemory) {
  Negate(first_, 257);
  EXPECT_THAT(misuses_, Contains(HasSubstr("Launch names 1028 bytes")).Times(2));
}

TEST_F(FakeCudaDriverTest, ReportsFreeWhileAKernelRuns) {
  Negate(first_);
  EXPECT_TRUE(card_->Free(second_, data_).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("not ordered behind the memory's last use")));
}

TEST_F(FakeCudaDriverTest, ReportsAGraphWhoseKernelIsOnFreedMemory) {
  EXPECT_TRUE(card_->BeginCapture(second_).ok());
  Negate(second_);
  const cuda::GraphHandle graph = card_->EndCapture(second_).value;
  EXPECT_TRUE(card_->Free(first_, data_).ok());
  EXPECT_THAT(misuses_, IsEmpty());
  EXPECT_TRUE(card_->LaunchGraph(first_, graph).ok());
  EXPECT_THAT(misuses_, Contains(HasSubstr("Launch names 1024 bytes")).Times(2));
}

TEST_F(FakeCudaDriverTest, ReportsFreeWhileInUse) {
  Fill(first_);
  EXPECT_TRUE(card_->Free(second_, data_).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("not ordered behind the memory's last use")));
}

TEST_F(FakeCudaDriverTest, ReportsCopiesOfMemoryThatIsNotPinned) {
  std::vector<std::byte> host(1024);
  EXPECT_TRUE(card_->CopyToHost(first_, host.data(), data_, 1024).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("1024 bytes that are no pinned memory")));
}

TEST_F(FakeCudaDriverTest, ReportsPinnedMemoryFreedWhileInUse) {
  std::byte* const host = card_->AllocateHost(1024).value;
  EXPECT_TRUE(card_->CopyToHost(first_, host, data_, 1024).ok());
  EXPECT_TRUE(card_->FreeHost(host).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("before the host has seen")));
}

TEST_F(FakeCudaDriverTest, ReportsAStreamDestroyedWithWorkInIt) {
  Fill(second_ = first_);
  EXPECT_TRUE(card_->DestroyStream(first_).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("while the stream has work")));
}

TEST_F(FakeCudaDriverTest, ReportsWhatIsNeverGivenBack) {
  card_.reset();
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("1 of its memory"), HasSubstr("2 of its streams"),
                                    HasSubstr("1 of its events")));
}

TEST_F(FakeCudaDriverTest, ACapturedStreamRunsWhenItsGraphIsLaunched) {
  EXPECT_TRUE(card_->BeginCapture(first_).ok());
  Fill(first_);
  const cuda::GraphHandle graph = card_->EndCapture(first_).value;
  EXPECT_TRUE(card_->Synchronize(first_).ok());
  EXPECT_NE(data_[0], std::byte{1});
  for (int i = 0; i < 2; ++i) {
    data_[0] = std::byte{0};
    EXPECT_TRUE(card_->LaunchGraph(first_, graph).ok());
    EXPECT_TRUE(card_->Synchronize(first_).ok());
    EXPECT_EQ(data_[0], std::byte{1});
  }
  EXPECT_TRUE(card_->DestroyGraph(graph).ok());
  EXPECT_THAT(misuses_, IsEmpty());
}

constexpr std::uint64_t kGranule = 64 << 10;

// Memory of one granule that is mapped.
class FakeCudaSharedMemoryTest : public FakeCudaDriverTest {
 protected:
  FakeCudaSharedMemoryTest() {
    memory_ = card_->CreateMemory(kGranule).value;
    mapped_ = card_->ReserveAddresses(kGranule).value;
    EXPECT_TRUE(card_->MapMemory(mapped_, kGranule, memory_).ok());
    EXPECT_TRUE(card_->SetAccess(mapped_, kGranule).ok());
  }

  cuda::MemoryHandle memory_{};
  std::byte* mapped_ = nullptr;
};

TEST_F(FakeCudaSharedMemoryTest, IsHeldByItsMappingAndGoesWithIt) {
  const std::uint64_t free_bytes = card_->Memory().value.free_bytes;
  EXPECT_TRUE(card_->ReleaseMemory(memory_).ok());
  EXPECT_TRUE(card_->Memset(first_, mapped_, 1, kGranule).ok());
  EXPECT_TRUE(card_->Synchronize(first_).ok());
  EXPECT_EQ(mapped_[kGranule - 1], std::byte{1});
  EXPECT_EQ(card_->Memory().value.free_bytes, free_bytes);
  EXPECT_TRUE(card_->UnmapMemory(mapped_, kGranule).ok());
  EXPECT_EQ(card_->Memory().value.free_bytes, free_bytes + kGranule);
  EXPECT_TRUE(card_->FreeAddresses(mapped_, kGranule).ok());
  EXPECT_THAT(misuses_, IsEmpty());
}

TEST_F(FakeCudaSharedMemoryTest, ReportsWhatIsUnmappedWhileInUse) {
  EXPECT_TRUE(card_->Memset(first_, mapped_, 1, kGranule).ok());
  EXPECT_TRUE(card_->UnmapMemory(mapped_, kGranule).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("UnmapMemory comes before the host has seen")));
}

TEST_F(FakeCudaSharedMemoryTest, ReportsUseAfterItIsUnmapped) {
  EXPECT_TRUE(card_->UnmapMemory(mapped_, kGranule).ok());
  std::byte* const host = card_->AllocateHost(1).value;
  EXPECT_TRUE(card_->CopyToHost(first_, host, mapped_, 1).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("1 bytes that are no device memory")));
}

TEST_F(FakeCudaSharedMemoryTest, ReportsAddressesFreedWhileMappedAndMappedTwice) {
  EXPECT_TRUE(card_->MapMemory(mapped_, kGranule, memory_).ok());
  EXPECT_TRUE(card_->FreeAddresses(mapped_, kGranule).ok());
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("mapped already"), HasSubstr("before UnmapMemory")));
}

TEST_F(FakeCudaSharedMemoryTest, ReportsHandlesAndAddressesThatAreNeverGivenBack) {
  card_.reset();
  EXPECT_THAT(misuses_, ElementsAre(HasSubstr("2 of its memory"), HasSubstr("1 of its memory hand"),
                                    HasSubstr("1 of its reserved"), HasSubstr("2 of its streams"),
                                    HasSubstr("1 of its events")));
}

}  // namespace
}  // namespace acceld
