#include "proto/wire/command_wire.h"

#include "backends/core/status.h"
#include "proto/wire/op_wire.h"
#include "proto/wire/program_wire.h"
#include "proto/wire/status_wire.h"

namespace acceld {
namespace {

std::uint64_t Number(Stream stream) { return static_cast<std::uint64_t>(stream); }
std::uint64_t Number(Event event) { return static_cast<std::uint64_t>(event); }
std::uint64_t Number(Program program) { return static_cast<std::uint64_t>(program); }

// ---- One overload a command ----

void SetAction(const command::Run& run, v1::Command& wire) { ToWire(run.op, *wire.mutable_run()); }

void SetAction(const command::Write& write, v1::Command& wire) {
  wire.mutable_write()->set_target(write.target);
  wire.mutable_write()->set_data(write.data.data(), write.data.size());
}

void SetAction(const command::Read& read, v1::Command& wire) {
  wire.mutable_read()->set_source(read.source);
  wire.mutable_read()->set_size_bytes(read.size_bytes);
  wire.mutable_read()->set_keep_error(read.keep_error);
}

void SetAction(const command::Alloc& alloc, v1::Command& wire) {
  wire.mutable_alloc()->set_address(alloc.address);
  wire.mutable_alloc()->set_size_bytes(alloc.size_bytes);
  wire.mutable_alloc()->set_mappable(alloc.mappable);
  wire.mutable_alloc()->set_openable(alloc.openable);
}

void SetAction(const command::Free& free, v1::Command& wire) {
  wire.mutable_free()->set_address(free.address);
}

void SetAction(const command::CreateStream& create, v1::Command& wire) {
  wire.mutable_create_stream()->set_stream(Number(create.stream));
  wire.mutable_create_stream()->set_priority(create.priority);
}

void SetAction(const command::DestroyStream&, v1::Command& wire) { wire.mutable_destroy_stream(); }

void SetAction(const command::CreateEvent& create, v1::Command& wire) {
  wire.mutable_create_event()->set_event(Number(create.event));
}

void SetAction(const command::DestroyEvent& destroy, v1::Command& wire) {
  wire.mutable_destroy_event()->set_event(Number(destroy.event));
}

void SetAction(const command::RecordEvent& record, v1::Command& wire) {
  wire.mutable_record_event()->set_event(Number(record.event));
}

void SetAction(const command::WaitEvent& wait, v1::Command& wire) {
  wire.mutable_wait_event()->set_event(Number(wait.event));
}

void SetAction(const command::QueryEvent& query, v1::Command& wire) {
  wire.mutable_query_event()->set_event(Number(query.event));
}

void SetAction(const command::SynchronizeEvent& synchronize, v1::Command& wire) {
  wire.mutable_synchronize_event()->set_event(Number(synchronize.event));
}

void SetAction(const command::ElapsedTime& elapsed, v1::Command& wire) {
  wire.mutable_elapsed_time()->set_start_event(Number(elapsed.start));
  wire.mutable_elapsed_time()->set_stop_event(Number(elapsed.stop));
}

void SetAction(const command::SynchronizeStream&, v1::Command& wire) {
  wire.mutable_synchronize_stream();
}

void SetAction(const command::Synchronize&, v1::Command& wire) { wire.mutable_synchronize(); }

void SetAction(const command::NoOp&, v1::Command& wire) { wire.mutable_no_op(); }

void SetAction(const command::DefineProgram& define, v1::Command& wire) {
  ToWire(define, *wire.mutable_define_program());
}

void SetAction(const command::Replay& replay, v1::Command& wire) {
  ToWire(replay, *wire.mutable_replay_program());
}

void SetAction(const command::DestroyProgram& destroy, v1::Command& wire) {
  wire.mutable_destroy_program()->set_program(Number(destroy.program));
}

command::Write WriteFromWire(v1::WriteMemory& wire) {
  auto owner = std::make_shared<std::string>(std::move(*wire.mutable_data()));
  const auto data =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
  return {.target = wire.target(), .data = data, .owner = std::move(owner)};
}

// ---- One overload a value ----

void SetValue(std::monostate, v1::CommandResult&) {}
void SetValue(Address address, v1::CommandResult& wire) { wire.set_address(address); }
void SetValue(std::string& data, v1::CommandResult& wire) { wire.set_data(std::move(data)); }
void SetValue(Stream stream, v1::CommandResult& wire) { wire.set_stream(Number(stream)); }
void SetValue(Event event, v1::CommandResult& wire) { wire.set_event(Number(event)); }
void SetValue(Program program, v1::CommandResult& wire) { wire.set_program(Number(program)); }
void SetValue(bool reached, v1::CommandResult& wire) { wire.set_reached(reached); }
void SetValue(std::chrono::nanoseconds elapsed, v1::CommandResult& wire) {
  wire.set_elapsed_ns(elapsed.count());
}

}  // namespace

void ToWire(const Command& command, v1::Command& wire) {
  if (command.stream != kDefaultStream) wire.set_stream(Number(command.stream));
  std::visit([&](const auto& action) { SetAction(action, wire); }, command.action);
}

std::uint64_t WireBytes(const Command& command) {
  v1::Command wire;
  ToWire(command, wire);
  return wire.ByteSizeLong();
}

absl::StatusOr<Command> FromWire(v1::Command&& wire) {
  Command command{.stream = Stream{wire.stream()}, .action = {}};
  switch (wire.action_case()) {
    case v1::Command::kRun: {
      ACCELD_ASSIGN_OR_RETURN(Op op, FromWire(wire.run()));
      command.action = command::Run{std::move(op)};
      return command;
    }
    case v1::Command::kWrite:
      command.action = WriteFromWire(*wire.mutable_write());
      return command;
    case v1::Command::kRead:
      command.action = command::Read{.source = wire.read().source(),
                                     .size_bytes = wire.read().size_bytes(),
                                     .keep_error = wire.read().keep_error()};
      return command;
    case v1::Command::kAlloc:
      command.action = command::Alloc{.address = wire.alloc().address(),
                                      .size_bytes = wire.alloc().size_bytes(),
                                      .mappable = wire.alloc().mappable(),
                                      .openable = wire.alloc().openable()};
      return command;
    case v1::Command::kFree:
      command.action = command::Free{wire.free().address()};
      return command;
    case v1::Command::kCreateStream:
      command.action = command::CreateStream{.stream = Stream{wire.create_stream().stream()},
                                             .priority = wire.create_stream().priority()};
      return command;
    case v1::Command::kDestroyStream:
      command.action = command::DestroyStream{};
      return command;
    case v1::Command::kCreateEvent:
      command.action = command::CreateEvent{Event{wire.create_event().event()}};
      return command;
    case v1::Command::kDestroyEvent:
      command.action = command::DestroyEvent{Event{wire.destroy_event().event()}};
      return command;
    case v1::Command::kRecordEvent:
      command.action = command::RecordEvent{Event{wire.record_event().event()}};
      return command;
    case v1::Command::kWaitEvent:
      command.action = command::WaitEvent{Event{wire.wait_event().event()}};
      return command;
    case v1::Command::kQueryEvent:
      command.action = command::QueryEvent{Event{wire.query_event().event()}};
      return command;
    case v1::Command::kSynchronizeEvent:
      command.action = command::SynchronizeEvent{Event{wire.synchronize_event().event()}};
      return command;
    case v1::Command::kElapsedTime:
      command.action = command::ElapsedTime{.start = Event{wire.elapsed_time().start_event()},
                                            .stop = Event{wire.elapsed_time().stop_event()}};
      return command;
    case v1::Command::kSynchronizeStream:
      command.action = command::SynchronizeStream{};
      return command;
    case v1::Command::kSynchronize:
      command.action = command::Synchronize{};
      return command;
    case v1::Command::kNoOp:
      command.action = command::NoOp{};
      return command;
    case v1::Command::kDefineProgram: {
      ACCELD_ASSIGN_OR_RETURN(command.action, FromWire(wire.define_program()));
      return command;
    }
    case v1::Command::kReplayProgram:
      command.action = FromWire(wire.replay_program());
      return command;
    case v1::Command::kDestroyProgram:
      command.action = command::DestroyProgram{Program{wire.destroy_program().program()}};
      return command;
    case v1::Command::ACTION_NOT_SET:
      break;
  }
  return InvalidArgument("The command names no action this server knows.");
}

void ToWire(CommandResult&& result, std::uint64_t sequence, v1::CommandResult& wire) {
  wire.set_sequence(sequence);
  if (!result.status.ok()) {
    ToWire(result.status, *wire.mutable_error());
  } else {
    std::visit([&](auto& value) { SetValue(value, wire); }, result.value);
  }
}

CommandResult FromWire(v1::CommandResult&& wire) {
  if (wire.has_error()) {
    absl::Status error = FromWire(wire.error());
    if (error.ok()) error = absl::UnknownError("The server sent an error without a code.");
    return {.status = std::move(error), .value = {}};
  }
  switch (wire.value_case()) {
    case v1::CommandResult::kAddress:
      return {.status = {}, .value = Address{wire.address()}};
    case v1::CommandResult::kData:
      return {.status = {}, .value = std::move(*wire.mutable_data())};
    case v1::CommandResult::kStream:
      return {.status = {}, .value = Stream{wire.stream()}};
    case v1::CommandResult::kEvent:
      return {.status = {}, .value = Event{wire.event()}};
    case v1::CommandResult::kReached:
      return {.status = {}, .value = wire.reached()};
    case v1::CommandResult::kElapsedNs:
      return {.status = {}, .value = std::chrono::nanoseconds(wire.elapsed_ns())};
    case v1::CommandResult::kProgram:
      return {.status = {}, .value = Program{wire.program()}};
    case v1::CommandResult::VALUE_NOT_SET:
      break;
  }
  return {};
}

}  // namespace acceld
