#include "proto/wire/program_wire.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/wire/command_wire.h"
#include "tests/unit/proto/wire/op_cases.h"

namespace acceld {
namespace {

using ::testing::HasSubstr;

template <typename Action>
v1::Command Wire(Action action) {
  v1::Command wire;
  ToWire({.stream = Stream{2}, .action = std::move(action)}, wire);
  return wire;
}

template <typename Action>
Action RoundTrip(Action action) {
  const absl::StatusOr<Command> command = FromWire(Wire(std::move(action)));
  EXPECT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->stream, Stream{2});
  return std::get<Action>(command->action);
}

v1::DefineProgram Define(const std::string& text) {
  v1::DefineProgram wire;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &wire)) << text;
  return wire;
}

std::string ErrorOf(const v1::DefineProgram& wire) {
  const absl::StatusOr<command::DefineProgram> define = FromWire(wire);
  EXPECT_EQ(define.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(define.status().message());
}

TEST(ProgramWire, ADefinitionKeepsItsItemsInOrder) {
  command::DefineProgram define{.program = Program{7}};
  define.items.push_back(EventItem{.event = Event{4}});
  for (const OpCase& each : OpCases()) define.items.push_back(each.op);
  define.items.push_back(EventItem{.event = Event{5}, .records = true});
  const command::DefineProgram back = RoundTrip(define);
  EXPECT_EQ(back.program, Program{7});
  ASSERT_EQ(back.items.size(), OpCases().size() + 2);
  EXPECT_EQ(std::get<EventItem>(back.items.front()).event, Event{4});
  EXPECT_FALSE(std::get<EventItem>(back.items.front()).records);
  EXPECT_EQ(std::get<EventItem>(back.items.back()).event, Event{5});
  EXPECT_TRUE(std::get<EventItem>(back.items.back()).records);
  for (std::size_t i = 0; i < OpCases().size(); ++i) {
    EXPECT_EQ(std::get<Op>(back.items[i + 1]).index(), OpCases()[i].op.index());
  }
}

TEST(ProgramWire, AReplayKeepsItsRebindings) {
  const command::Replay back =
      RoundTrip(command::Replay{.program = Program{8}, .rebindings = {{1, 2}, {3, 4}}});
  EXPECT_EQ(back.program, Program{8});
  ASSERT_EQ(back.rebindings.size(), 2u);
  EXPECT_EQ(back.rebindings[1].recorded, 3u);
  EXPECT_EQ(back.rebindings[1].replacement, 4u);
}

TEST(ProgramWire, ADestructionNamesItsProgram) {
  EXPECT_EQ(RoundTrip(command::DestroyProgram{Program{9}}).program, Program{9});
}

TEST(ProgramWire, TheNumberOfAProgramIsAResult) {
  v1::CommandResult wire;
  ToWire(CommandResult{.status = {}, .value = Program{11}}, 1, wire);
  EXPECT_EQ(wire.program(), 11u);
  EXPECT_EQ(std::get<Program>(FromWire(std::move(wire)).value), Program{11});
}

TEST(ProgramWire, AnItemThatIsNoneIsAnError) {
  EXPECT_THAT(ErrorOf(Define("items { record_event { event: 1 } } items {}")),
              HasSubstr("An item of a program"));
  EXPECT_THAT(ErrorOf(Define("items { run {} }")), HasSubstr("op"));
}

TEST(ProgramWire, TooManyItemsAreAnErrorBeforeTheyAreConverted) {
  v1::DefineProgram wire;
  for (std::size_t i = 0; i < kMaxProgramItems; ++i) wire.add_items()->mutable_wait_event();
  EXPECT_TRUE(FromWire(wire).ok());
  wire.add_items();
  EXPECT_THAT(ErrorOf(wire), HasSubstr("65537 items; the limit is 65536"));
}

TEST(ProgramWire, WireBytesAreThoseOfTheMessage) {
  const command::Replay replay{.program = Program{8}, .rebindings = {{1, 2}}};
  EXPECT_EQ(WireBytes({.stream = Stream{2}, .action = replay}), Wire(replay).ByteSizeLong());
}

}  // namespace
}  // namespace acceld
