#include "channel/socket_stream.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "channel/descriptor_passing.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/channel/stream_pair.h"

namespace acceld {
namespace {

class SocketStreamTest : public ::testing::Test {
 protected:
  SocketPair sockets_;
  SocketStream stream_{std::move(sockets_.first)};
  SocketStream peer_{std::move(sockets_.second)};
};

TEST_F(SocketStreamTest, EachSideReadsWhatTheOtherWrites) {
  EXPECT_EQ(*peer_.Write(BytesOf("hello")), 5u);
  EXPECT_EQ(ReadOnce(stream_, 3), "hel");
  EXPECT_EQ(ReadOnce(stream_, 100), "lo");
  EXPECT_EQ(*stream_.Write(BytesOf("back")), 4u);
  EXPECT_EQ(ReadOnce(peer_, 100), "back");
}

TEST_F(SocketStreamTest, NothingYetIsNoErrorAndDoesNotBlock) {
  EXPECT_EQ(ReadOnce(stream_, 100), "");
}

TEST_F(SocketStreamTest, NoRoomIsNoErrorAndDoesNotBlock) {
  const std::string much(1 << 20, 'x');
  std::size_t written = 1;
  while (written > 0) {
    const absl::StatusOr<std::size_t> some = stream_.Write(BytesOf(much));
    ASSERT_THAT(some.status(), IsOk());
    written = *some;
  }
}

TEST_F(SocketStreamTest, ReadingIntoNothingIsNotTheEnd) { EXPECT_EQ(*stream_.Read({}), 0u); }

TEST_F(SocketStreamTest, AClosedPeerIsUnavailable) {
  EXPECT_TRUE(peer_.Write(BytesOf("last")).ok());
  peer_.Release();
  EXPECT_EQ(ReadOnce(stream_, 100), "last");
  std::byte byte;
  EXPECT_THAT(stream_.Read(absl::MakeSpan(&byte, 1)).status(),
              IsStatus(absl::StatusCode::kUnavailable, "The other side has closed"));
  EXPECT_THAT(stream_.Write(BytesOf("x")).status(),
              IsStatus(absl::StatusCode::kUnavailable, "The connection is lost"));
}

TEST_F(SocketStreamTest, DescriptorsThatComeAlongAreClosed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  EXPECT_THAT(SendWithDescriptor(peer_.fd(), BytesOf("x"), writing.get()), IsOk());
  writing.Reset();
  EXPECT_EQ(ReadOnce(stream_, 100), "x");
  EXPECT_TRUE(BecomesReadable(reading.get(), 0));
}

TEST_F(SocketStreamTest, BringsDescriptorsInTheirOrderWhereTheyAreTaken) {
  SocketPair sockets;
  SocketStream taker(std::move(sockets.first), /*takes_descriptors=*/true);
  SocketStream sender(std::move(sockets.second));
  EXPECT_TRUE(taker.BringsDescriptors());
  EXPECT_FALSE(sender.BringsDescriptors());
  EXPECT_FALSE(taker.NextDescriptor().valid());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  EXPECT_EQ(*sender.Write(BytesOf("ab")), 2u);
  EXPECT_EQ(*sender.WriteWithDescriptor(BytesOf("cd"), writing.get()), 2u);
  EXPECT_EQ(*sender.WriteWithDescriptor(BytesOf("e"), sender.fd()), 1u);
  EXPECT_EQ(*sender.Write(BytesOf("f")), 1u);
  std::string read;
  while (read.size() < 6) read += ReadOnce(taker, 100);
  EXPECT_EQ(read, "abcdef");
  const UniqueFd first = taker.NextDescriptor();
  ASSERT_TRUE(first.valid());
  EXPECT_EQ(write(first.get(), "x", 1), 1);
  EXPECT_TRUE(BecomesReadable(reading.get(), 0));
  EXPECT_TRUE(taker.NextDescriptor().valid());
  EXPECT_FALSE(taker.NextDescriptor().valid());
  std::byte byte;
  EXPECT_EQ(*taker.Read({}), 0u);
  EXPECT_EQ(*taker.Read(absl::MakeSpan(&byte, 1)), 0u);
}

TEST_F(SocketStreamTest, ADescriptorWaitsForRoomAndABadOneIsAnError) {
  EXPECT_FALSE(stream_.WriteWithDescriptor(BytesOf("x"), -1).ok());
  const std::string much(1 << 20, 'x');
  while (*stream_.Write(BytesOf(much)) > 0) {
  }
  const absl::StatusOr<std::size_t> none = stream_.WriteWithDescriptor(BytesOf("x"), stream_.fd());
  ASSERT_THAT(none.status(), IsOk());
  EXPECT_EQ(*none, 0u);
}

TEST_F(SocketStreamTest, GivesItsSocketUp) {
  const int fd = stream_.fd();
  const UniqueFd released = stream_.Release();
  EXPECT_EQ(released.get(), fd);
  EXPECT_EQ(stream_.fd(), -1);
  EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

}  // namespace
}  // namespace acceld
