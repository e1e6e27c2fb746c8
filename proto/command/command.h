// A command: everything a client can do in a session, as plain structs. Transports turn their own
// encoding into these; the session knows only these. The fields are those of
// proto/acceld/v1/command.proto.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/context/program_item.h"
#include "backends/core/handles.h"
#include "backends/ops/op.h"

namespace acceld::command {

struct Run {
  Op op;
};

struct Write {
  Address target = 0;
  absl::Span<const std::byte> data;
  // Keeps `data` where the command outlives its sender's buffer; may be null.
  std::shared_ptr<const void> owner = nullptr;
};

struct Read {
  Address source = 0;
  std::uint64_t size_bytes = 0;
  // Leaves an error of the stream for the next synchronization.
  bool keep_error = false;
  // Where the bytes go; if empty, they are the command's value. `owner` keeps it; may be null.
  absl::Span<std::byte> target = {};
  std::shared_ptr<const void> owner = nullptr;
};

struct Alloc {
  // 0 lets the daemon choose.
  Address address = 0;
  std::uint64_t size_bytes = 0;
  bool mappable = false;
  bool openable = false;
};

struct Free {
  Address address = 0;
};

struct CreateStream {
  // 0 lets the daemon choose.
  Stream stream{0};
  int priority = 0;
};

// Destroys the command's stream.
struct DestroyStream {};

struct CreateEvent {
  // 0 lets the daemon choose.
  Event event{0};
};

struct DestroyEvent {
  Event event{0};
};

struct RecordEvent {
  Event event{0};
};

struct WaitEvent {
  Event event{0};
};

struct QueryEvent {
  Event event{0};
};

struct SynchronizeEvent {
  Event event{0};
};

struct ElapsedTime {
  Event start{0};
  Event stop{0};
};

struct DefineProgram {
  // 0 lets the daemon choose.
  Program program{0};
  std::vector<ProgramItem> items{};
};

struct Replay {
  Program program{0};
  std::vector<Rebinding> rebindings{};
};

struct DestroyProgram {
  Program program{0};
};

struct SynchronizeStream {};

struct Synchronize {};

struct NoOp {};

}  // namespace acceld::command

namespace acceld {

struct Command {
  Stream stream = kDefaultStream;
  std::variant<command::Run, command::Write, command::Read, command::Alloc, command::Free,
               command::CreateStream, command::DestroyStream, command::CreateEvent,
               command::DestroyEvent, command::RecordEvent, command::WaitEvent, command::QueryEvent,
               command::SynchronizeEvent, command::ElapsedTime, command::SynchronizeStream,
               command::Synchronize, command::NoOp, command::DefineProgram, command::Replay,
               command::DestroyProgram>
      action;
};

// Whether somebody may wait for just this command, so that it is answered when it is over and not
// only when all before it are.
inline bool IsSynchronization(const Command& command) {
  return std::holds_alternative<command::SynchronizeStream>(command.action) ||
         std::holds_alternative<command::SynchronizeEvent>(command.action) ||
         std::holds_alternative<command::Synchronize>(command.action);
}

// What a command returns besides its status; monostate for most.
using CommandValue = std::variant<std::monostate, Address, std::string /* bytes read */, Stream,
                                  Event, Program, bool /* reached */, std::chrono::nanoseconds>;

struct CommandResult {
  absl::Status status;
  CommandValue value;
};

// Whether a result has anything to say that "finished" does not.
inline bool WorthSending(const CommandResult& result) {
  return !result.status.ok() || !std::holds_alternative<std::monostate>(result.value);
}

}  // namespace acceld
