// An op between its struct and acceld.v1.Op, whichever op it is.
#pragma once

#include "absl/status/statusor.h"
#include "acceld/v1/op.pb.h"
#include "backends/ops/op.h"

namespace acceld {

// Sets `wire` to `op`.
void ToWire(const Op& op, v1::Op& wire);

// The op that `wire` holds. Its numbers are those sent, whether or not they make sense, which
// CheckParameters tells: an enum that is unset or unknown is not valid (IsValid). An invalid
// argument where `wire` holds no op that this build knows, or one that its struct cannot hold.
absl::StatusOr<Op> FromWire(const v1::Op& wire);

}  // namespace acceld
