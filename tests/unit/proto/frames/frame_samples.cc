#include "tests/unit/proto/frames/frame_samples.h"

#include <cstring>

#include "backends/core/status.h"
#include "tests/unit/proto/wire/op_cases.h"

namespace acceld::frames {

std::vector<Command> SampleCommands() {
  std::vector<Command> commands;
  for (const OpCase& each : OpCases()) {
    commands.push_back({.stream = Stream{3}, .action = command::Run{each.op}});
  }
  const auto written =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(kWritten), sizeof kWritten);
  std::vector<ProgramItem> items = {EventItem{.event = Event{4}},
                                    EventItem{.event = Event{5}, .records = true}};
  for (const OpCase& each : OpCases()) items.emplace_back(each.op);
  const decltype(Command::action) actions[] = {
      command::Write{.target = 0x8000000000000100, .data = written},
      command::Read{.source = 0x100, .size_bytes = 1 << 20, .keep_error = true},
      command::Alloc{
          .address = 0x100, .size_bytes = 3'000'000'000, .mappable = true, .openable = true},
      command::Free{.address = 0x100},
      command::CreateStream{.stream = Stream{4}, .priority = -5},
      command::DestroyStream{},
      command::CreateEvent{Event{1}},
      command::DestroyEvent{Event{2}},
      command::RecordEvent{Event{3}},
      command::WaitEvent{Event{4}},
      command::QueryEvent{Event{5}},
      command::SynchronizeEvent{Event{6}},
      command::ElapsedTime{.start = Event{7}, .stop = Event{8}},
      command::SynchronizeStream{},
      command::Synchronize{},
      command::NoOp{},
      command::DefineProgram{.program = Program{1}, .items = std::move(items)},
      command::Replay{.program = Program{2}, .rebindings = {{1, 2}, {3, 4}}},
      command::DestroyProgram{Program{3}},
  };
  for (const auto& action : actions) commands.push_back({.stream = Stream{9}, .action = action});
  return commands;
}

std::vector<CommandResult> SampleResults() {
  return {
      {.status = {}, .value = std::monostate()},
      {.status = {}, .value = Address{0x8000000000000100}},
      {.status = {}, .value = Stream{4}},
      {.status = {}, .value = Event{5}},
      {.status = {}, .value = Program{6}},
      {.status = {}, .value = true},
      {.status = {}, .value = std::chrono::nanoseconds(-7)},
      {.status = InvalidArgument("It is wrong.", reason::kUnknownAddress), .value = {}},
  };
}

SharedCopy SampleCopy() {
  return {.address = 0x100, .size_bytes = 2, .host = 3, .host_offset = 4, .keep_error = true};
}

Header HeaderOf(absl::Span<const std::byte> frame) {
  Header header;
  std::memcpy(&header, frame.data(), sizeof header);
  return header;
}

absl::Span<const std::byte> PayloadOf(absl::Span<const std::byte> frame) {
  return frame.subspan(sizeof(Header));
}

}  // namespace acceld::frames
