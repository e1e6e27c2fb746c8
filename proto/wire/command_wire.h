// Commands and their results between structs and acceld.v1.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "acceld/v1/command.pb.h"
#include "proto/command/command.h"

namespace acceld {

// Sets `wire`, which is empty, to `command`. The bytes of a write are copied.
void ToWire(const Command& command, v1::Command& wire);

// How many bytes `command` takes in a message, but for a few that say how many. Converts it.
std::uint64_t WireBytes(const Command& command);

// The command that `wire` holds; the bytes of a write are moved out of it. An invalid argument
// where it holds none that this build knows.
absl::StatusOr<Command> FromWire(v1::Command&& wire);

// Sets `wire`, which is empty, to the result of command `sequence`; bytes read are moved out of
// `result`.
void ToWire(CommandResult&& result, std::uint64_t sequence, v1::CommandResult& wire);

// The result that `wire` holds; bytes read are moved out of it.
CommandResult FromWire(v1::CommandResult&& wire);

}  // namespace acceld
