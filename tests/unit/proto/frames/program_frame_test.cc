#include <vector>

#include "gtest/gtest.h"
#include "proto/frames/command_frame.h"

namespace acceld::frames {
namespace {

std::vector<std::byte> Frame(const Command& command) {
  std::vector<std::byte> frame;
  Append(command, frame);
  return frame;
}

absl::StatusOr<Command> Decoded(const std::vector<std::byte>& frame) {
  Header header;
  std::memcpy(&header, frame.data(), sizeof header);
  return ToCommand(header, absl::MakeConstSpan(frame).subspan(sizeof header));
}

std::uint64_t NumberAt(const std::vector<std::byte>& frame, std::size_t offset) {
  std::uint64_t number = 0;
  std::memcpy(&number, frame.data() + offset, sizeof number);
  return number;
}
void SetNumberAt(std::vector<std::byte>& frame, std::size_t offset, std::uint64_t number) {
  std::memcpy(frame.data() + offset, &number, sizeof number);
}

// Where a definition has its number of items, and the kind of its first.
constexpr std::size_t kCountAt = sizeof(Header) + 8;
constexpr std::size_t kKindAt = kCountAt + 8;

command::DefineProgram SomeProgram() {
  return {
      .program = Program{7},
      .items = {EventItem{.event = Event{4}},
                ops::Gather{.rows = 3, .columns = 1, .indices = {2, 0}, .table = 1, .output = 9},
                EventItem{.event = Event{5}, .records = true},
                ops::CopyDtoD{.target = 1, .source = 2, .bytes = 3}}};
}

TEST(ProgramFrame, ADefinitionKeepsItsItems) {
  const auto command = Decoded(Frame({.action = SomeProgram()}));
  ASSERT_TRUE(command.ok()) << command.status();
  const auto& define = std::get<command::DefineProgram>(command->action);
  EXPECT_EQ(define.program, Program{7});
  ASSERT_EQ(define.items.size(), 4u);
  EXPECT_EQ(std::get<EventItem>(define.items[0]).event, Event{4});
  EXPECT_FALSE(std::get<EventItem>(define.items[0]).records);
  EXPECT_EQ(std::get<ops::Gather>(std::get<Op>(define.items[1])).indices,
            (std::vector<std::int64_t>{2, 0}));
  EXPECT_TRUE(std::get<EventItem>(define.items[2]).records);
  EXPECT_EQ(std::get<ops::CopyDtoD>(std::get<Op>(define.items[3])).bytes, 3u);
}

TEST(ProgramFrame, AReplayKeepsItsRebindings) {
  const command::Replay replay{.program = Program{8}, .rebindings = {{1, 2}, {3, 4}}};
  const auto command = Decoded(Frame({.stream = Stream{6}, .action = replay}));
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->stream, Stream{6});
  const auto& decoded = std::get<command::Replay>(command->action);
  EXPECT_EQ(decoded.program, Program{8});
  ASSERT_EQ(decoded.rebindings.size(), 2u);
  EXPECT_EQ(decoded.rebindings[1].recorded, 3u);
  EXPECT_EQ(decoded.rebindings[1].replacement, 4u);
}

TEST(ProgramFrame, ADestructionAndTheResultOfADefinitionNameTheProgram) {
  const auto command = Decoded(Frame({.action = command::DestroyProgram{Program{9}}}));
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(std::get<command::DestroyProgram>(command->action).program, Program{9});
  std::vector<std::byte> frame;
  Append(1, CommandResult{.status = {}, .value = Program{10}}, frame);
  Header header;
  std::memcpy(&header, frame.data(), sizeof header);
  const auto result = ToResult(header, absl::MakeConstSpan(frame).subspan(sizeof header));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(std::get<Program>(result->value), Program{10});
}

TEST(ProgramFrame, CountsAndKindsThatAreNoneAreErrors) {
  const std::vector<std::byte> right = Frame({.action = SomeProgram()});
  ASSERT_EQ(NumberAt(right, kCountAt), 4u);
  for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{5}, std::uint64_t{1} << 32,
                                    ~std::uint64_t{0}, ~std::uint64_t{0} / 16 + 1}) {
    std::vector<std::byte> wrong = right;
    SetNumberAt(wrong, kCountAt, count);
    EXPECT_FALSE(Decoded(wrong).ok()) << count;
  }
  for (const std::uint64_t kind : {kOpCount + 2, std::size_t{1} << 40, ~std::size_t{0}}) {
    std::vector<std::byte> wrong = right;
    SetNumberAt(wrong, kKindAt, kind);
    EXPECT_FALSE(Decoded(wrong).ok()) << kind;
  }
  std::vector<std::byte> rebindings = Frame({.action = command::Replay{}});
  SetNumberAt(rebindings, kCountAt, 1);
  EXPECT_FALSE(Decoded(rebindings).ok());
}

TEST(ProgramFrame, TooManyItemsAreAnError) {
  command::DefineProgram define;
  define.items.resize(kMaxProgramItems, EventItem{});
  EXPECT_TRUE(Decoded(Frame({.action = define})).ok());
  define.items.push_back(EventItem{});
  EXPECT_FALSE(Decoded(Frame({.action = define})).ok());
}

}  // namespace
}  // namespace acceld::frames
