#include "proto/frames/pack.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld::frames {
namespace {

using ::testing::ElementsAre;

// Packs `value` and takes it as a T again.
template <typename T>
bool Survives(T value) {
  std::vector<std::byte> bytes;
  Packer(bytes).Put(value);
  T taken{};
  Unpacker unpacker(bytes);
  unpacker.Take(taken);
  return bytes.size() % 8 == 0 && unpacker.Done() && taken == value;
}

TEST(PackTest, NumbersSurviveAtTheirLimits) {
  EXPECT_TRUE(Survives(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_TRUE(Survives(std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(Survives(std::numeric_limits<int>::min()));
  EXPECT_TRUE(Survives(std::numeric_limits<int>::max()));
  EXPECT_TRUE(Survives(std::uint8_t{255}));
  EXPECT_TRUE(Survives(true));
  EXPECT_TRUE(Survives(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(Survives(std::numeric_limits<float>::denorm_min()));
}

TEST(PackTest, BitsOfNaNsSurvive) {
  std::vector<std::byte> bytes;
  Packer(bytes).Put(std::bit_cast<float>(0x7fc12345u));
  float taken = 0;
  Unpacker(bytes).Take(taken);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(taken), 0x7fc12345u);
}

TEST(PackTest, TextsOfEveryLengthSurvive) {
  for (std::size_t size = 0; size < 20; ++size) {
    std::vector<std::byte> bytes;
    const std::string text(size, 'x');
    Packer(bytes).Put(std::string_view(text));
    EXPECT_EQ(bytes.size(), 8 + (size + 7) / 8 * 8);
    std::string taken;
    Unpacker unpacker(bytes);
    unpacker.Take(taken);
    EXPECT_TRUE(unpacker.Done());
    EXPECT_EQ(taken, text);
  }
}

TEST(PackTest, ListsAndShapesSurvive) {
  EXPECT_TRUE(Survives(std::vector<std::int64_t>{}));
  EXPECT_TRUE(Survives(std::vector<std::int64_t>{-1, 2}));
  EXPECT_TRUE(Survives(std::array<std::int64_t, 2>{3, -4}));
  EXPECT_TRUE(Survives(Shape{}));
  EXPECT_TRUE(Survives(Shape{1, -2, 3, 4, 5, 6, 7, 8}));
}

TEST(PackTest, WhatIsTooLongFailsForGood) {
  std::vector<std::byte> bytes;
  Packer packer(bytes);
  packer.Put(std::uint64_t{256});
  packer.Put(std::uint64_t{1});
  Unpacker unpacker(bytes);
  std::uint8_t small = 9;
  std::uint64_t next = 0;
  unpacker.Take(small);
  unpacker.Take(next);
  EXPECT_EQ(small, 0);
  EXPECT_TRUE(unpacker.failed());
  EXPECT_TRUE(unpacker.rest().empty());
  EXPECT_FALSE(unpacker.Done());
}

TEST(PackTest, ATextWithoutItsFillingIsShort) {
  std::vector<std::byte> bytes;
  Packer(bytes).Put(std::string_view("12345"));
  bytes.pop_back();
  std::string taken;
  Unpacker unpacker(bytes);
  unpacker.Take(taken);
  EXPECT_EQ(taken, "");
  EXPECT_FALSE(unpacker.Done());
}

TEST(PackTest, ATextOfAnyAnnouncedLengthIsShort) {
  for (const std::uint64_t size : {std::uint64_t{9}, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    std::vector<std::byte> bytes;
    Packer packer(bytes);
    packer.Put(size);
    packer.Put(std::uint64_t{0});
    std::string taken;
    Unpacker unpacker(bytes);
    unpacker.Take(taken);
    EXPECT_FALSE(unpacker.Done());
  }
}

TEST(PackTest, NumbersAreLittleEndian) {
  std::vector<std::byte> bytes;
  Packer(bytes).Put(std::uint64_t{0x0102});
  EXPECT_THAT(bytes, ElementsAre(std::byte{2}, std::byte{1}, std::byte{0}, std::byte{0},
                                 std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}));
}

}  // namespace
}  // namespace acceld::frames
