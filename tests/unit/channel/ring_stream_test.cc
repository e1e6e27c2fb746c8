#include "channel/ring_stream.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/channel/stream_pair.h"

namespace acceld {
namespace {

constexpr std::uint64_t kRingBytes = 4096;

class RingStreamTest : public ::testing::Test {
 protected:
  RingPair pair_{kRingBytes};
  RingStream& client_ = *pair_.client;
  RingStream& server_ = *pair_.server;
};

// A file that can be told from others.
UniqueFd FileOf(off_t bytes) {
  UniqueFd file(memfd_create("test-file", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(file.get(), bytes), 0);
  return file;
}
off_t SizeOf(const UniqueFd& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 ? status.st_size : -1;
}

TEST_F(RingStreamTest, EachSideReadsWhatTheOtherWrites) {
  EXPECT_EQ(*client_.Write(BytesOf("to the server")), 13u);
  EXPECT_EQ(*server_.Write(BytesOf("to the client")), 13u);
  EXPECT_EQ(ReadOnce(server_, 100), "to the server");
  EXPECT_EQ(ReadOnce(client_, 100), "to the client");
  EXPECT_EQ(ReadOnce(client_, 100), "");
}

TEST_F(RingStreamTest, NobodyIsWokenWhoIsAwake) {
  EXPECT_TRUE(client_.Write(BytesOf("abc")).ok());
  EXPECT_EQ(ReadOnce(server_, 100), "abc");
  EXPECT_FALSE(BecomesReadable(server_.fd(), 0));
  EXPECT_FALSE(BecomesReadable(client_.fd(), 0));
}

TEST_F(RingStreamTest, AReaderThatSleepsIsWokenOnce) {
  EXPECT_TRUE(server_.PrepareToWaitForBytes());
  EXPECT_TRUE(client_.Write(BytesOf("abc")).ok());
  EXPECT_TRUE(BecomesReadable(server_.fd()));
  EXPECT_TRUE(client_.Write(BytesOf("def")).ok());
  EXPECT_THAT(server_.WakeUp(), IsOk());
  EXPECT_FALSE(BecomesReadable(server_.fd(), 0));
  EXPECT_EQ(ReadOnce(server_, 100), "abcdef");
}

TEST_F(RingStreamTest, AWriterThatSleepsIsWokenOnceHalfIsFree) {
  EXPECT_EQ(*client_.Write(BytesOf(std::string(kRingBytes, 'x'))), kRingBytes);
  EXPECT_TRUE(client_.PrepareToWaitForRoom());
  EXPECT_EQ(ReadOnce(server_, 1), "x");
  EXPECT_FALSE(BecomesReadable(client_.fd(), 0));
  EXPECT_FALSE(client_.Writable());
  ReadOnce(server_, kRingBytes / 2);
  EXPECT_TRUE(BecomesReadable(client_.fd()));
  EXPECT_TRUE(client_.Writable());
  EXPECT_THAT(client_.WakeUp(), IsOk());
  EXPECT_EQ(*client_.Write(BytesOf("yy")), 2u);
}

TEST_F(RingStreamTest, AClosedPeerShowsAtWakingUp) {
  EXPECT_TRUE(client_.Write(BytesOf("last")).ok());
  pair_.client.reset();
  EXPECT_TRUE(BecomesReadable(server_.fd()));
  EXPECT_THAT(server_.WakeUp(), IsStatus(absl::StatusCode::kUnavailable, "closed the connection"));
  // What it wrote before is still there.
  EXPECT_EQ(ReadOnce(server_, 100), "last");
  // A kick to nobody is no error, and no signal.
  (void)server_.PrepareToWaitForRoom();
  EXPECT_TRUE(server_.Write(BytesOf("to nobody")).ok());
}

TEST_F(RingStreamTest, APeerThatNeverStopsToKickKeepsNobody) {
  const std::string kicks(100'000, 'k');
  std::size_t sent = 0;
  while (true) {
    const ssize_t some = send(client_.fd(), kicks.data(), kicks.size(), MSG_DONTWAIT);
    if (some <= 0) break;
    sent += static_cast<std::size_t>(some);
  }
  EXPECT_THAT(server_.WakeUp(), IsOk());
  // Far from all of it is taken in one turn.
  EXPECT_TRUE(BecomesReadable(server_.fd(), 0));
  EXPECT_GT(sent, 10'000u);
}

TEST_F(RingStreamTest, DescriptorsComeInTheirOrder) {
  for (const off_t bytes : {11, 12}) {
    EXPECT_THAT(server_.SendDescriptor(FileOf(bytes).get()), IsOk());
  }
  EXPECT_EQ(SizeOf(client_.NextDescriptor()), 11);
  EXPECT_EQ(SizeOf(client_.NextDescriptor()), 12);
  EXPECT_FALSE(client_.NextDescriptor().valid());
}

TEST_F(RingStreamTest, ADescriptorBehindManyKicksIsFound) {
  const std::string kicks(1000, 'k');
  EXPECT_EQ(send(server_.fd(), kicks.data(), kicks.size(), 0), 1000);
  EXPECT_THAT(server_.SendDescriptor(FileOf(13).get()), IsOk());
  EXPECT_EQ(SizeOf(client_.NextDescriptor()), 13);
}

TEST_F(RingStreamTest, ADescriptorTakenWhileWakingUpIsKept) {
  EXPECT_THAT(server_.SendDescriptor(FileOf(14).get()), IsOk());
  EXPECT_THAT(client_.WakeUp(), IsOk());
  EXPECT_EQ(SizeOf(client_.NextDescriptor()), 14);
}

TEST_F(RingStreamTest, AServerClosesWhatItsClientsSend) {
  UniqueFd file = FileOf(15);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  EXPECT_THAT(client_.SendDescriptor(writing.get()), IsOk());
  writing.Reset();
  EXPECT_THAT(server_.WakeUp(), IsOk());
  EXPECT_FALSE(server_.NextDescriptor().valid());
  // The last end to write to is gone.
  EXPECT_TRUE(BecomesReadable(reading.get(), 0));
}

TEST_F(RingStreamTest, TwoThreadsThatSleepAndWakeEachOtherLoseNothing) {
  constexpr std::uint32_t kNumbers = 20'000;
  const auto wait = [](RingStream& stream) {
    EXPECT_TRUE(BecomesReadable(stream.fd())) << "nobody wakes this side";
    return stream.WakeUp();
  };
  std::thread writer([&] {
    for (std::uint32_t i = 0; i < kNumbers; ++i) {
      auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&i), sizeof i);
      while (!bytes.empty()) {
        bytes.remove_prefix(*client_.Write(bytes));
        if (bytes.empty() || !client_.PrepareToWaitForRoom()) continue;
        if (!wait(client_).ok()) return;
      }
    }
  });
  std::vector<std::uint32_t> received(kNumbers);
  auto missing = absl::MakeSpan(reinterpret_cast<std::byte*>(received.data()),
                                received.size() * sizeof(std::uint32_t));
  while (!missing.empty()) {
    // Few at a time, so that the writer sleeps too.
    const std::size_t bytes = *server_.Read(missing.subspan(0, 1000));
    missing.remove_prefix(bytes);
    if (bytes > 0 || !server_.PrepareToWaitForBytes()) continue;
    if (!wait(server_).ok()) break;
  }
  writer.join();
  for (std::uint32_t i = 0; i < kNumbers; ++i) ASSERT_EQ(received[i], i);
}

}  // namespace
}  // namespace acceld
