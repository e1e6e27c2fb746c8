#include "backends/memory/streaming_copy.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace acceld {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 4096, 5001};
// Kept around what is written, to show that nothing else is.
constexpr std::size_t kMargin = 128;
constexpr std::byte kUntouched{0xee};

std::vector<std::byte> Numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 31 % 251 + 1);
  return bytes;
}

TEST(StreamingCopyTest, CopiesExactlyItsBytesFromAndToEveryAlignment) {
  const std::vector<std::byte> source = Numbered(6000);
  for (const std::size_t size : kSizes) {
    for (std::size_t to = 0; to < 64; ++to) {
      for (std::size_t from = 0; from < 64; from += (to % 16 == 0 ? 1 : 7)) {
        std::vector<std::byte> target(size + 2 * kMargin, kUntouched);
        std::vector<std::byte> expected = target;
        std::copy_n(source.data() + from, size, expected.data() + to);
        StreamingCopy(target.data() + to, source.data() + from, size);
        ASSERT_TRUE(target == expected) << size << " bytes, " << from << " to " << to;
      }
    }
  }
}

TEST(StreamingCopyTest, CopiesMuch) {
  const std::vector<std::byte> source = Numbered((std::size_t{3} << 20) + 5);
  std::vector<std::byte> target(source.size());
  StreamingCopy(target.data() + 1, source.data() + 2, source.size() - 2);
  EXPECT_TRUE(std::equal(source.begin() + 2, source.end(), target.begin() + 1));
}

TEST(StreamingZeroTest, ZeroesExactlyItsBytesAtEveryAlignment) {
  for (const std::size_t size : kSizes) {
    for (std::size_t to = 0; to < 64; ++to) {
      std::vector<std::byte> target(size + 2 * kMargin, kUntouched);
      std::vector<std::byte> expected = target;
      std::fill_n(expected.data() + to, size, std::byte{0});
      StreamingZero(target.data() + to, size);
      ASSERT_TRUE(target == expected) << size << " bytes at " << to;
    }
  }
}

TEST(StreamingCopyTest, TouchesNothingForNoBytes) {
  StreamingCopy(nullptr, nullptr, 0);
  StreamingZero(nullptr, 0);
}

}  // namespace
}  // namespace acceld
