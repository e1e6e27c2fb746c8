// Neither who submits nor other queues wait for what takes long to submit.
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kBytes = 256;

class CudaSubmissionTest : public CudaDeviceTest {
 protected:
  ~CudaSubmissionTest() override {
    if (device_ == nullptr) return;
    for (std::byte* data : {data_, others_}) device_->Release(data, kBytes);
  }

  static Address AddressOf(const std::byte* data) { return reinterpret_cast<Address>(data); }

  float FloatAt(const std::byte* address) {
    Bytes bytes(sizeof(float));
    EXPECT_THAT(Read(bytes, address).Status(), IsOk());
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  void Set(std::byte* address, float value) {
    Bytes bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    EXPECT_THAT(Write(address, bytes).Status(), IsOk());
  }

  // The third number += the first times the second, of `data`.
  static Op Product(const std::byte* data) {
    return ops::Gemm{.m = 1,
                     .n = 1,
                     .k = 1,
                     .a = AddressOf(data),
                     .lda = 1,
                     .b = AddressOf(data + 4),
                     .ldb = 1,
                     .beta = 1,
                     .c = AddressOf(data + 8),
                     .ldc = 1};
  }
  // The third number = the first times the second, of `data`.
  static Op Convolution(const std::byte* data) {
    return ops::Conv2dForward{.shape = Conv2dShape::For({1, 1, 1, 1}, {1, 1, 1, 1}),
                              .input = AddressOf(data),
                              .filter = AddressOf(data + 4),
                              .output = AddressOf(data + 8)};
  }

  // Submits `work` on data_ while the driver's `call`, which it needs, takes long; then that goes
  // on, and so does `other_work` on others_, which needs the same.
  void ExpectNobodyWaits(const Work& work, const Work& other_work, std::string_view call) {
    SCOPED_TRACE(call);
    card_->HoldCalls(call);
    const Submitted slow(*device_, queue_, work);
    const Submitted behind = Fill(data_, 0, 4);
    card_->WaitForCalls(call, 1);
    const DeviceQueue other = NewQueue();
    EXPECT_THAT(Fill(other, others_, 7, kBytes).Status(), IsOk());
    const Submitted also_slow(*device_, other, other_work);
    card_->ReleaseCalls();
    for (const Submitted* submitted : {&slow, &behind, &also_slow}) {
      EXPECT_THAT(submitted->Status(), IsOk());
    }
  }

  std::byte* const data_ = Allocate(kBytes);
  std::byte* const others_ = Allocate(kBytes);
};

TEST_F(CudaSubmissionTest, NobodyWaitsForThePlanOfAConvolution) {
  ExpectNobodyWaits(Convolution(data_), Convolution(others_), "PlanConvolution");
  EXPECT_EQ(card_->calls("PlanConvolution"), 1);
}

TEST_F(CudaSubmissionTest, NobodyWaitsForTheGraphOfAProgram) {
  const auto program = device_->MakeProgram({Product(data_), Product(data_)});
  const auto other = device_->MakeProgram({Product(others_), Product(others_)});
  ExpectNobodyWaits(program.get(), other.get(), "BeginCapture");
  EXPECT_EQ(card_->calls("LaunchGraph"), 2);
}

TEST_F(CudaSubmissionTest, NobodyWaitsForMemory) {
  card_->FailCall("Allocate", 1, kDriverOutOfMemory);
  card_->FailCall("Allocate", 2, kDriverOutOfMemory);
  ExpectNobodyWaits(Product(data_), Product(others_), "SynchronizeAll");
  EXPECT_EQ(card_->calls("SynchronizeAll"), 1);
}

// Its work, when it is done, submits more.
TEST_F(CudaSubmissionTest, AQueueThatNeverEndsKeepsNoThreadFromTheOthers) {
  const DeviceQueue other = NewQueue();
  card_->HoldCalls("PlanConvolution");
  const Submitted slow(*device_, other, Convolution(others_));
  card_->WaitForCalls("PlanConvolution", 1);
  const Work fill = Op(ops::Memset{.target = AddressOf(others_ + 16), .value = 1, .bytes = 4});
  std::atomic<bool> stop = false;
  std::atomic<int> running = 0;
  std::function<void(const WorkResult&)> again = [&](const WorkResult&) {
    if (!stop) {
      device_->Submit(other, fill, [&](const WorkResult& result) { again(result); });
    } else {
      --running;
    }
  };
  for (; running < 16; ++running) {
    device_->Submit(other, fill, [&](const WorkResult& result) { again(result); });
  }
  // Of another shape, which has no plan either.
  const Submitted behind(
      *device_, queue_,
      Op(ops::Conv2dForward{.shape = Conv2dShape::For({2, 1, 1, 1}, {1, 1, 1, 1}),
                            .input = AddressOf(data_),
                            .filter = AddressOf(data_ + 8),
                            .output = AddressOf(data_ + 16)}));
  card_->ReleaseCalls();
  EXPECT_THAT(slow.Status(), IsOk());
  EXPECT_THAT(behind.Status(), IsOk());
  stop = true;
  while (running > 0) std::this_thread::yield();
}

TEST_F(CudaSubmissionTest, WhatHadToWaitRunsOnceAndInItsOrder) {
  Set(data_, 3);
  Set(data_ + 4, 5);
  Set(data_ + 8, 1);
  for (const int call : {1, 2}) card_->FailCall("Allocate", call, kDriverOutOfMemory);
  const Submitted product(*device_, queue_, Product(data_));
  const Submitted fill = Fill(data_, 0, 4);
  EXPECT_THAT(product.Status(), IsOk());
  EXPECT_THAT(fill.Status(), IsOk());
  EXPECT_EQ(card_->calls("SynchronizeAll"), 1);
  EXPECT_EQ(FloatAt(data_ + 8), 16);
  EXPECT_EQ(FloatAt(data_), 0);
  // Its first attempt counts no more.
  EXPECT_EQ(device_->memory().free_bytes, (std::uint64_t{64} << 20) - 2 * kBytes);
}

TEST_F(CudaSubmissionTest, ADeviceThatEndsFinishesWhatHasToWait) {
  card_->HoldCalls("PlanConvolution");
  const Work work = Convolution(data_);
  const Waiter<absl::Status> done;
  device_->Submit(queue_, work, [&, device = device_.get()](const WorkResult& result) {
    for (std::byte* memory : {data_, others_}) device->Release(memory, kBytes);
    done(result.status);
  });
  card_->WaitForCalls("PlanConvolution", 1);
  std::thread end([this] { device_.reset(); });
  card_->ReleaseCalls();
  end.join();
  EXPECT_THAT(done.Wait(), IsOk());
}

}  // namespace
}  // namespace acceld
