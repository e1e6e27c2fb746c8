#include "proto/wire/program_wire.h"

#include <cstdint>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/op_wire.h"

namespace acceld {
namespace {

void ToWire(const ProgramItem& item, v1::ProgramItem& wire) {
  if (const Op* op = std::get_if<Op>(&item)) return acceld::ToWire(*op, *wire.mutable_run());
  const EventItem& event = std::get<EventItem>(item);
  const auto number = static_cast<std::uint64_t>(event.event);
  if (event.records) {
    wire.mutable_record_event()->set_event(number);
  } else {
    wire.mutable_wait_event()->set_event(number);
  }
}

absl::StatusOr<ProgramItem> FromWire(const v1::ProgramItem& wire) {
  switch (wire.item_case()) {
    case v1::ProgramItem::kRun:
      return acceld::FromWire(wire.run());
    case v1::ProgramItem::kRecordEvent:
      return EventItem{.event = Event{wire.record_event().event()}, .records = true};
    case v1::ProgramItem::kWaitEvent:
      return EventItem{.event = Event{wire.wait_event().event()}};
    case v1::ProgramItem::ITEM_NOT_SET:
      break;
  }
  return InvalidArgument("An item of a program is none that this server knows.");
}

}  // namespace

void ToWire(const command::DefineProgram& define, v1::DefineProgram& wire) {
  wire.set_program(static_cast<std::uint64_t>(define.program));
  for (const ProgramItem& item : define.items) ToWire(item, *wire.add_items());
}

void ToWire(const command::Replay& replay, v1::ReplayProgram& wire) {
  wire.set_program(static_cast<std::uint64_t>(replay.program));
  for (const Rebinding& rebinding : replay.rebindings) {
    v1::Rebinding& added = *wire.add_rebindings();
    added.set_recorded(rebinding.recorded);
    added.set_replacement(rebinding.replacement);
  }
}

absl::StatusOr<command::DefineProgram> FromWire(const v1::DefineProgram& wire) {
  // Before anything is made of them: an item takes far less on the wire than as a struct.
  const auto count = static_cast<std::size_t>(wire.items_size());
  if (count > kMaxProgramItems) return ProgramTooLong(count, kMaxProgramItems);
  command::DefineProgram define{.program = Program{wire.program()}};
  define.items.reserve(count);
  for (const v1::ProgramItem& item : wire.items()) {
    ACCELD_ASSIGN_OR_RETURN(ProgramItem converted, FromWire(item));
    define.items.push_back(std::move(converted));
  }
  return define;
}

command::Replay FromWire(const v1::ReplayProgram& wire) {
  command::Replay replay{.program = Program{wire.program()}};
  replay.rebindings.reserve(static_cast<std::size_t>(wire.rebindings_size()));
  for (const v1::Rebinding& rebinding : wire.rebindings()) {
    replay.rebindings.push_back(
        {.recorded = rebinding.recorded(), .replacement = rebinding.replacement()});
  }
  return replay;
}

}  // namespace acceld
