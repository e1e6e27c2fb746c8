// The bytes of every frame, as version kVersion has them.
#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/frames/command_frame.h"
#include "tests/unit/proto/frames/frame_samples.h"

namespace acceld::frames {
namespace {

// 64-bit FNV-1a.
std::string HashOf(absl::Span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte each : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

std::vector<std::string> HashesOfAllFrames() {
  std::vector<std::string> hashes;
  std::vector<std::byte> frame;
  const auto add = [&](const auto&... parts) {
    frame.clear();
    Append(parts..., frame);
    hashes.push_back(HashOf(frame));
  };
  for (const Command& command : SampleCommands()) add(command);
  for (const CommandResult& result : SampleResults()) add(std::uint64_t{17}, result);
  for (const Kind kind : {Kind::kWriteShared, Kind::kReadShared})
    add(kind, Stream{5}, SampleCopy());
  for (const Kind kind : {Kind::kAllocHost, Kind::kFreeHost, Kind::kMap, Kind::kExportHandle})
    add(kind, std::uint64_t{6});
  add(Welcome{.ring_bytes = 1, .staging_bytes = 2}, std::string_view("shm"),
      std::string_view("no"));
  add(Kind::kEnd, std::uint64_t{0}, SampleResults().back().status);
  return hashes;
}

// Where this fails, a client and a daemon of two builds do not understand each other any more:
// raise kVersion, and write down the hashes that are there now.
TEST(GoldenFrameTest, TheBytesOfAVersionDoNotChange) {
  EXPECT_EQ(kVersion, 2u);
  const std::vector<std::string> expected = {
      "80e75fe402cc034b", "3bd57266b8127b77", "deebcd5a3b02c02f", "647b758840ae73c6",
      "33c7954d3240193f", "4896e98a6f017694", "dc4cf83502fbf922", "269874de349d4e1a",
      "557684070d66b7b8", "a88b0e89fbb053ab", "a767797b7c916c09", "97172e8247585549",
      "a2b4ac2992334bb0", "c7f7fad4206a061d", "ab77aed814a50edd", "a3caf6fac65f81bb",
      "0e38c4d47bd30afd", "380d2c5a47e12a37", "5deaca474b0e9d56", "a50fa50e429afd72",
      "bf269429b2fe557b", "ed970a253a52a36d", "c86140dc4334a53f", "73faf3d774e300cd",
      "d2da0e6a5207da1b", "e0cf36c0c531e8ad", "bb996d77ce13ea7f", "f37ee136741b47bd",
      "7996409bda7b78f3", "0cc356f300a6e03c", "55756164bbb73bcd", "6ed7140a4abce3e6",
      "b1c467bbc205853b", "a1926d1c3c4609d3", "4a5d782dc0d3f9ed", "95daa5bb694fbad7",
      "c176cf49699b65ea", "d6444c01475fb5f4", "06cc82ff02e64c1e", "c7327119997e5a62",
      "44209cf426597d04", "5aa8493caea4f606", "b527bd5782f5c547", "06d8e25bb0c7133a",
      "36595eb8ec8076a9", "542ca2d6c448fdd8", "5d0e4bd87e6b1b4f", "7ae18ff65633a27e",
      "939b739412a68af1", "abd3f9f888155532"};
  EXPECT_EQ(absl::StrJoin(HashesOfAllFrames(), "\n"), absl::StrJoin(expected, "\n"));
}

TEST(GoldenFrameTest, TheFixedPartsDoNotChange) {
  EXPECT_STREQ(kMagic, "ACCELDDC");
  EXPECT_EQ(sizeof(Hello), 32u);
  EXPECT_EQ(offsetof(Hello, version), 8u);
  EXPECT_EQ(offsetof(Hello, shared_memory), 12u);
  EXPECT_EQ(offsetof(Hello, secret), 16u);
  EXPECT_EQ(offsetof(Header, kind), 4u);
  EXPECT_EQ(offsetof(Header, detail), 6u);
  EXPECT_EQ(offsetof(Header, number), 8u);
}

}  // namespace
}  // namespace acceld::frames
