// The commands about programs between structs and acceld.v1.
#pragma once

#include "absl/status/statusor.h"
#include "acceld/v1/command.pb.h"
#include "proto/command/command.h"

namespace acceld {

// Each sets `wire`, which is empty.
void ToWire(const command::DefineProgram& define, v1::DefineProgram& wire);
void ToWire(const command::Replay& replay, v1::ReplayProgram& wire);

// An invalid argument where there are more than kMaxProgramItems items, or one is none that this
// build knows. The ops are as FromWire gives each.
absl::StatusOr<command::DefineProgram> FromWire(const v1::DefineProgram& wire);
command::Replay FromWire(const v1::ReplayProgram& wire);

}  // namespace acceld
