#include "proto/wire/utf8.h"

#include <cstdint>
#include <random>
#include <string>

#include "acceld/v1/status.pb.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

constexpr std::size_t kPlenty = 100;

TEST(BoundedUtf8Test, KeepsValidText) {
  const std::string text = "a \u00E9 \u20AC \U0001F600 \uFFFD" + std::string("\0", 1) + "z";
  EXPECT_EQ(BoundedUtf8(text, kPlenty), text);
  EXPECT_EQ(BoundedUtf8("", kPlenty), "");
}

TEST(BoundedUtf8Test, KeepsTheBordersOfTheValidRanges) {
  for (const char* text : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(BoundedUtf8(text, kPlenty), text);
  }
}

TEST(BoundedUtf8Test, ReplacesEachByteThatBelongsToNoCharacter) {
  EXPECT_EQ(BoundedUtf8("a\x80z", kPlenty), "a?z");             // a lone continuation
  EXPECT_EQ(BoundedUtf8("a\xFFz", kPlenty), "a?z");             // never a byte of UTF-8
  EXPECT_EQ(BoundedUtf8("\xC0\xAF", kPlenty), "??");            // overlong
  EXPECT_EQ(BoundedUtf8("\xC1\xBF", kPlenty), "??");            // overlong
  EXPECT_EQ(BoundedUtf8("\xE0\x9F\xBF", kPlenty), "???");       // overlong
  EXPECT_EQ(BoundedUtf8("\xF0\x8F\xBF\xBF", kPlenty), "????");  // overlong
  EXPECT_EQ(BoundedUtf8("\xED\xA0\x80", kPlenty), "???");       // a surrogate
  EXPECT_EQ(BoundedUtf8("\xF4\x90\x80\x80", kPlenty), "????");  // above U+10FFFF
  EXPECT_EQ(BoundedUtf8("\xE2\x82", kPlenty), "??");            // ends too early
  EXPECT_EQ(BoundedUtf8("\xF0\x9F\x98", kPlenty), "???");       // ends too early
  EXPECT_EQ(BoundedUtf8("\xE2\x82z\xE2", kPlenty), "??z?");     // goes on too early
  EXPECT_EQ(BoundedUtf8("\xE2\xE2\x82\xAC", kPlenty),
            "?\u20AC");  // a character after a false start
}

TEST(BoundedUtf8Test, CutsBetweenCharacters) {
  EXPECT_EQ(BoundedUtf8("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(BoundedUtf8("abcdefgh", 7), "abcd...");
  EXPECT_EQ(BoundedUtf8("\u20AC\u20AC\u20AC", 9), "\u20AC\u20AC\u20AC");
  EXPECT_EQ(BoundedUtf8("\u20AC\u20AC\u20AC", 8), "\u20AC...");
  EXPECT_EQ(BoundedUtf8("\u20AC\u20AC", 5), "...");
  EXPECT_EQ(BoundedUtf8("abc", 2), "ab");
  EXPECT_EQ(BoundedUtf8("\u20AC", 2), "");
  EXPECT_EQ(BoundedUtf8("abc", 0), "");
}

TEST(BoundedUtf8Test, AnyBytesBecomeTextThatProtobufTakes) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  // Lead and continuation bytes are frequent, so that almost valid text is.
  const std::string bytes = "a\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xE2\xED\xEF\xF0\xF4\xF5\xFF";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const std::size_t length = random() % 12;
    while (text.size() < length) text += bytes[random() % bytes.size()];
    const std::size_t limit = random() % 14;
    v1::Status status;
    status.set_message(BoundedUtf8(text, limit));
    ASSERT_LE(status.message().size(), limit);
    // Parsing refuses what is not UTF-8.
    ASSERT_TRUE(v1::Status().ParseFromString(status.SerializeAsString()))
        << testing::PrintToString(text) << " in " << limit << " bytes";
  }
}

}  // namespace
}  // namespace acceld
