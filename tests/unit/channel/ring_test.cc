#include "channel/ring.h"

#include <array>
#include <random>
#include <thread>

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/channel/stream_pair.h"

namespace acceld {
namespace {

constexpr std::uint64_t kRingBytes = 64;

class RingTest : public ::testing::Test {
 protected:
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(memory_.data()); }
  std::size_t Write(std::string_view text) { return *writer_.Write(BytesOf(text)); }
  std::string Read(std::size_t bytes) {
    std::string text(bytes, '\0');
    text.resize(*reader_.Read(absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), bytes)));
    return text;
  }
  absl::Status ReadStatus() {
    std::array<std::byte, 8> target;
    return reader_.Read(absl::MakeSpan(target)).status();
  }

  alignas(64) std::array<std::byte, RingMemoryBytes(kRingBytes)> memory_{};
  RingWriter writer_{memory_.data(), kRingBytes};
  RingReader reader_{memory_.data(), kRingBytes};
};

TEST_F(RingTest, AnEmptyRingGivesNothing) {
  EXPECT_FALSE(reader_.Readable());
  EXPECT_EQ(Read(8), "");
}

TEST_F(RingTest, BytesComeInOrderAndOnce) {
  EXPECT_EQ(Write("abc"), 3u);
  EXPECT_EQ(Write("de"), 2u);
  EXPECT_TRUE(reader_.Readable());
  EXPECT_EQ(Read(4), "abcd");
  EXPECT_EQ(Read(4), "e");
  EXPECT_FALSE(reader_.Readable());
}

TEST_F(RingTest, AFullRingTakesNothingUntilItIsReadFrom) {
  EXPECT_EQ(Write(std::string(100, 'x')), kRingBytes);
  EXPECT_EQ(Write("y"), 0u);
  EXPECT_EQ(Read(3), "xxx");
  EXPECT_EQ(Write("12345"), 3u);
  EXPECT_EQ(Read(100), std::string(61, 'x') + "123");
}

TEST_F(RingTest, WrapsAroundAtEveryPosition) {
  std::string written;
  std::string read;
  for (int i = 0; i < 200; ++i) {
    const std::string text(1 + i % 37, static_cast<char>('a' + i % 26));
    ASSERT_EQ(Write(text), text.size());
    written += text;
    read += Read(100);
  }
  EXPECT_EQ(read, written);
}

TEST_F(RingTest, NothingIsWrittenOfNothing) {
  EXPECT_EQ(Write(""), 0u);
  EXPECT_FALSE(reader_.Readable());
}

TEST_F(RingTest, AWriterThatClaimsMoreThanTheRingHoldsIsRefused) {
  for (const std::uint64_t written : {kRingBytes + 1, ~std::uint64_t{0}}) {
    header().written = written;
    EXPECT_THAT(ReadStatus(), IsInvalid("position in the ring is beyond the ring"));
  }
}

TEST_F(RingTest, AWriterThatGoesBackIsRefused) {
  Write("abcdef");
  Read(6);
  header().written = 5;
  EXPECT_THAT(ReadStatus(), IsInvalid("position in the ring is beyond the ring"));
}

TEST_F(RingTest, AReaderThatClaimsWhatWasNotWrittenIsRefused) {
  Write("abc");
  for (const std::uint64_t read : {std::uint64_t{4}, std::uint64_t{1} << 63}) {
    header().read = read;
    EXPECT_THAT(writer_.Write(BytesOf("d")).status(),
                IsInvalid("position in the ring is beyond the ring"));
  }
}

TEST_F(RingTest, AReaderThatGoesBackFarIsRefused) {
  Write(std::string(kRingBytes, 'x'));
  Read(kRingBytes);
  Write("abc");
  header().read = 2;
  EXPECT_THAT(writer_.Write(BytesOf("d")).status(),
              IsInvalid("position in the ring is beyond the ring"));
}

TEST_F(RingTest, WhatThePeerScribblesOverTheOwnPositionChangesNothing) {
  Write("abc");
  header().written = 3;
  header().read = 3;
  EXPECT_EQ(Read(8), "abc");
  header().read = 1;
  EXPECT_EQ(Write("de"), 2u);
  EXPECT_EQ(Read(8), "de");
}

TEST_F(RingTest, AReaderThatSleepsIsToBeWokenOnce) {
  EXPECT_FALSE(writer_.TakeReaderSleeps());
  EXPECT_TRUE(reader_.PrepareToSleep());
  EXPECT_TRUE(writer_.TakeReaderSleeps());
  EXPECT_FALSE(writer_.TakeReaderSleeps());
}

TEST_F(RingTest, AReaderDoesNotSleepOverBytes) {
  Write("a");
  EXPECT_FALSE(reader_.PrepareToSleep());
}

TEST_F(RingTest, AWriterSleepsUntilHalfIsFree) {
  EXPECT_TRUE(writer_.HalfFree());
  EXPECT_FALSE(writer_.PrepareToSleep());
  Write(std::string(kRingBytes, 'x'));
  EXPECT_FALSE(writer_.HalfFree());
  EXPECT_TRUE(writer_.PrepareToSleep());
  Read(kRingBytes / 2 - 1);
  EXPECT_FALSE(reader_.TakeWriterSleeps());
  EXPECT_FALSE(writer_.HalfFree());
  Read(1);
  EXPECT_TRUE(writer_.HalfFree());
  EXPECT_TRUE(reader_.TakeWriterSleeps());
  EXPECT_FALSE(reader_.TakeWriterSleeps());
}

TEST_F(RingTest, AWriterDoesNotSleepOverAnError) {
  header().read = 77;
  EXPECT_FALSE(writer_.PrepareToSleep());
}

}  // namespace
}  // namespace acceld
