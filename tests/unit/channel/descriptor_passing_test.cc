#include "channel/descriptor_passing.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/channel/stream_pair.h"

namespace acceld {
namespace {

class DescriptorPassingTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::size_t> Receive() {
    return ReceiveWithDescriptors(sockets_.second.get(), absl::MakeSpan(bytes_), descriptors_);
  }

  SocketPair sockets_;
  std::array<std::byte, 64> bytes_{};
  std::deque<UniqueFd> descriptors_;
};

TEST_F(DescriptorPassingTest, ADescriptorComesWithItsBytesAndIsClosedOnExec) {
  EXPECT_THAT(SendWithDescriptor(sockets_.first.get(), BytesOf("abc"), sockets_.first.get()),
              IsOk());
  EXPECT_EQ(*Receive(), 3u);
  EXPECT_EQ(bytes_[2], std::byte{'c'});
  ASSERT_EQ(descriptors_.size(), 1u);
  EXPECT_NE(descriptors_.front().get(), sockets_.first.get());
  EXPECT_TRUE(fcntl(descriptors_.front().get(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(DescriptorPassingTest, NothingYetIsNoError) {
  EXPECT_EQ(*Receive(), 0u);
  EXPECT_TRUE(descriptors_.empty());
}

TEST_F(DescriptorPassingTest, AClosedSocketIsUnavailable) {
  sockets_.first.Reset();
  EXPECT_THAT(Receive().status(), IsStatus(absl::StatusCode::kUnavailable, "closed"));
  EXPECT_THAT(SendWithDescriptor(sockets_.second.get(), BytesOf("x"), sockets_.second.get()),
              IsStatus(absl::StatusCode::kUnavailable, "The connection is lost"));
}

TEST_F(DescriptorPassingTest, ASocketThatTakesNoMoreDoesNotBlock) {
  absl::Status status;
  for (int i = 0; i < 1'000'000 && status.ok(); ++i) {
    status = SendWithDescriptor(sockets_.first.get(), BytesOf(std::string(1000, 'x')),
                                sockets_.first.get());
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_F(DescriptorPassingTest, ADescriptorThatIsNoneIsAnError) {
  EXPECT_EQ(SendWithDescriptor(sockets_.first.get(), BytesOf("x"), -1).code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace acceld
