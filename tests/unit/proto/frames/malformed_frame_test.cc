// What a peer may send instead of a frame.
#include <random>

#include "gtest/gtest.h"
#include "proto/frames/command_frame.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/proto/frames/frame_samples.h"

namespace acceld::frames {
namespace {

std::vector<std::byte> FrameOf(const Command& command) {
  std::vector<std::byte> frame;
  Append(command, frame);
  return frame;
}

TEST(MalformedFrameTest, ACommandCutAnywhereIsRefused) {
  for (const Command& command : SampleCommands()) {
    const std::vector<std::byte> frame = FrameOf(command);
    const auto fields = PayloadOf(frame);
    for (std::size_t size = 0; size < fields.size(); ++size) {
      EXPECT_THAT(ToCommand(HeaderOf(frame), fields.subspan(0, size)).status(),
                  IsInvalid("is malformed"));
    }
  }
}

TEST(MalformedFrameTest, ACommandWithMoreBehindItIsRefused) {
  for (const Command& command : SampleCommands()) {
    std::vector<std::byte> frame = FrameOf(command);
    frame.insert(frame.end(), 8, std::byte{0});
    EXPECT_THAT(ToCommand(HeaderOf(frame), PayloadOf(frame)).status(), IsInvalid("is malformed"));
  }
}

TEST(MalformedFrameTest, KindsAndOpsThatAreNoneAreRefused) {
  for (const std::uint16_t kind : {0, static_cast<int>(kCommandKinds) + 1, 64, 128, 65535}) {
    EXPECT_THAT(ToCommand({.kind = kind}, {}).status(), IsInvalid("is malformed"));
  }
  // A command that runs no op names none.
  EXPECT_THAT(ToCommand({.kind = kCommandKinds, .detail = 1}, {}).status(),
              IsInvalid("is malformed"));
  for (const std::uint16_t op : {0, static_cast<int>(kOpCount) + 1, 65535}) {
    EXPECT_THAT(ToCommand({.kind = 1, .detail = op}, {}).status(), IsInvalid("is malformed"));
  }
}

TEST(MalformedFrameTest, NumbersThatDoNotFitTheirFieldAreRefused) {
  // The value of a memset, the type of a gemm, a flag, a priority.
  const struct {
    Command command;
    std::size_t field;
  } cases[] = {
      {{.action = command::Run{ops::Memset{}}}, 1},
      {{.action = command::Run{ops::Gemm{}}}, 0},
      {{.action = command::Alloc{}}, 2},
      {{.action = command::Alloc{}}, 3},
      {{.action = command::CreateStream{}}, 1},
  };
  for (const auto& each : cases) {
    std::vector<std::byte> frame = FrameOf(each.command);
    frame[sizeof(Header) + 8 * each.field + 4] = std::byte{1};
    EXPECT_THAT(ToCommand(HeaderOf(frame), PayloadOf(frame)).status(), IsInvalid("is malformed"));
  }
}

TEST(MalformedFrameTest, AListLongerThanItsFrameIsRefused) {
  for (const std::uint64_t count : {std::uint64_t{4}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    std::vector<std::byte> frame =
        FrameOf({.action = command::Run{ops::Gather{.rows = 1, .columns = 1, .indices = {1, 2}}}});
    std::memcpy(frame.data() + sizeof(Header) + 16, &count, sizeof count);
    EXPECT_THAT(ToCommand(HeaderOf(frame), PayloadOf(frame)).status(), IsInvalid("is malformed"));
  }
}

TEST(MalformedFrameTest, AShortWriteHasNoData) {
  EXPECT_EQ(FieldBytes({.payload_bytes = 3, .kind = 2}), 3u);
  EXPECT_EQ(FieldBytes({.payload_bytes = 300, .kind = 2}), 8u);
  EXPECT_EQ(FieldBytes({.payload_bytes = 300, .kind = 3}), 300u);
}

TEST(MalformedFrameTest, AResultCutAnywhereIsRefused) {
  for (const CommandResult& result : SampleResults()) {
    std::vector<std::byte> frame;
    Append(1, result, frame);
    const auto payload = PayloadOf(frame);
    for (std::size_t size = 0; size < payload.size(); ++size) {
      EXPECT_THAT(ToResult(HeaderOf(frame), payload.subspan(0, size)).status(),
                  IsInvalid("is malformed"));
    }
  }
}

TEST(MalformedFrameTest, AResultOfAnUnknownValueIsRefused) {
  std::vector<std::byte> frame;
  Append(1, {}, frame);
  EXPECT_THAT(ToResult({.kind = 129, .detail = std::variant_size_v<CommandValue>}, PayloadOf(frame))
                  .status(),
              IsInvalid("is malformed"));
}

TEST(MalformedFrameTest, CopiesAndNumbersCutOrTooLongAreRefused) {
  std::vector<std::byte> copy;
  Append(Kind::kWriteShared, Stream{0}, SampleCopy(), copy);
  copy.push_back(std::byte{0});
  const auto payload = PayloadOf(copy);
  for (std::size_t size = 0; size <= payload.size(); ++size) {
    EXPECT_EQ(ToSharedCopy(payload.subspan(0, size)).ok(), size == payload.size() - 1);
    EXPECT_EQ(ToNumber(payload.subspan(0, size)).ok(), size == 8);
  }
}

TEST(MalformedFrameTest, RandomBytesAreRefusedOrACommand) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::minstd_rand random(seed);
  const std::vector<Command> commands = SampleCommands();
  std::size_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    // A frame with some bytes changed; small numbers are more likely to be taken.
    std::vector<std::byte> frame = FrameOf(commands[random() % commands.size()]);
    for (std::size_t changes = random() % 4; changes > 0; --changes) {
      frame[random() % frame.size()] = static_cast<std::byte>(random() >> (random() % 16));
    }
    const absl::StatusOr<Command> command = ToCommand(HeaderOf(frame), PayloadOf(frame));
    (void)ToResult(HeaderOf(frame), PayloadOf(frame));
    if (!command.ok()) continue;
    ++taken;
    // What was taken is a command like any other: it makes a frame again.
    EXPECT_TRUE(ToCommand(HeaderOf(FrameOf(*command)), PayloadOf(FrameOf(*command))).ok());
  }
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace acceld::frames
