// Copies of all sizes over gRPC, through the client library and the real daemon.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include "backends/core/status.h"
#include "client/connect.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"

namespace acceld {
namespace {

using testing::DaemonProcess;

constexpr std::chrono::seconds kPatience{5};

std::vector<std::byte> Bytes(std::size_t count, std::uint32_t seed) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::byte>(seed >> 24);
  }
  return bytes;
}

class BulkCopyTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto connected = Connect((GetParam() ? daemon_->tcp_endpoint() : daemon_->unix_endpoint()) +
                             "?transport=grpc");
    ASSERT_TRUE(connected.ok()) << connected.status();
    backend_ = *std::move(connected);
  }

  const std::unique_ptr<DaemonProcess> daemon_ = DaemonProcess::Start();
  std::unique_ptr<ComputeBackend> backend_;
};

INSTANTIATE_TEST_SUITE_P(UnixAndTcp, BulkCopyTest, ::testing::Bool());

TEST_P(BulkCopyTest, CopiesOfEverySizeAndAlignmentArriveWhole) {
  constexpr std::size_t kKiB = 1024;
  for (const std::size_t bytes :
       {std::size_t{1}, 256 * kKiB - 1, 256 * kKiB, 256 * kKiB + 1, 1024 * kKiB - 1, 1024 * kKiB,
        1024 * kKiB + 1, 9 * 1024 * kKiB + 13}) {
    for (const std::size_t offset : {0, 7}) {
      const Address base = backend_->Alloc(bytes + offset + 1).value();
      const std::vector<std::byte> source = Bytes(bytes, 1);
      ASSERT_TRUE(backend_->CopyHtoD(base + offset, source).ok());
      std::vector<std::byte> target(bytes + 1);
      ASSERT_TRUE(backend_->CopyDtoH(absl::MakeSpan(target), base + offset).ok());
      EXPECT_TRUE(std::equal(source.begin(), source.end(), target.begin())) << bytes;
      EXPECT_EQ(target.back(), std::byte{0}) << "The byte after the copy is as it was.";
      ASSERT_TRUE(backend_->Free(base).ok());
    }
  }
}

TEST_P(BulkCopyTest, TheSourceMayBeReusedAtOnce) {
  constexpr std::size_t kBytes = (3 << 20) / 2;
  constexpr int kCopies = 20;
  std::vector<std::byte> source(kBytes);
  std::vector<Address> targets;
  for (int i = 0; i < kCopies; ++i) {
    targets.push_back(backend_->Alloc(kBytes).value());
    std::fill(source.begin(), source.end(), static_cast<std::byte>(i + 1));
    ASSERT_TRUE(backend_->CopyHtoD(targets.back(), source).ok());
  }
  for (int i = 0; i < kCopies; ++i) {
    ASSERT_TRUE(backend_->CopyDtoH(absl::MakeSpan(source), targets[i]).ok());
    const auto right = static_cast<std::byte>(i + 1);
    EXPECT_EQ(std::count(source.begin(), source.end(), right), std::ptrdiff_t{kBytes}) << i;
  }
}

TEST_P(BulkCopyTest, LargeAndSmallCopiesOfAStreamStayInOrder) {
  constexpr std::size_t kBytes = 2 << 20;
  const std::vector<std::byte> small(100, std::byte{9});
  std::vector<std::byte> large(kBytes, std::byte{5});
  std::vector<std::byte> target(kBytes);
  const Address data = backend_->Alloc(kBytes).value();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(backend_->Memset(data, 1, kBytes).ok());
    ASSERT_TRUE(backend_->CopyHtoD(data, large).ok());
    ASSERT_TRUE(backend_->CopyHtoD(data + kBytes / 2, small).ok());
    ASSERT_TRUE(backend_->CopyDtoH(absl::MakeSpan(target), data).ok());
    EXPECT_EQ(std::count(target.begin(), target.end(), std::byte{9}), 100);
    EXPECT_EQ(std::count(target.begin(), target.end(), std::byte{5}), std::ptrdiff_t{kBytes - 100});
  }
}

TEST_P(BulkCopyTest, ThreadsCopyAtTheSameTime) {
  std::vector<std::future<bool>> threads;
  for (std::uint32_t thread = 0; thread < 3; ++thread) {
    threads.push_back(std::async(std::launch::async, [&, thread] {
      const std::vector<std::byte> source = Bytes(700'001 * (thread + 1), thread);
      std::vector<std::byte> target(source.size());
      const Stream stream = backend_->CreateStream().value();
      const Address data = backend_->Alloc(source.size()).value();
      for (int i = 0; i < 5; ++i) {
        if (!backend_->CopyHtoD(data, source, stream).ok()) return false;
        if (!backend_->CopyDtoH(absl::MakeSpan(target), data, stream).ok()) return false;
        if (target != source) return false;
      }
      return true;
    }));
  }
  for (auto& thread : threads) EXPECT_TRUE(thread.get());
}

TEST_P(BulkCopyTest, ACopyToTheDeviceReturnsWhenTheDaemonDies) {
  constexpr std::size_t kBytes = 16 << 20;
  const Address data = backend_->Alloc(kBytes).value();
  std::promise<void> started;
  auto copies = std::async(std::launch::async, [&] {
    const std::vector<std::byte> source(kBytes);
    absl::Status status = backend_->CopyHtoD(data, source);
    started.set_value();
    while (status.ok()) status = backend_->CopyHtoD(data, source);
    return status;
  });
  started.get_future().wait();
  daemon_->Signal(SIGKILL);
  ASSERT_EQ(copies.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(copies.get().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace acceld
