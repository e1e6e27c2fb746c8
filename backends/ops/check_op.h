// The checks that every op passes before anything runs it: the same code in process, in the client
// library and in the daemon.
#pragma once

#include <array>
#include <memory>

#include "absl/status/statusor.h"
#include "backends/memory/address_space.h"
#include "backends/ops/op.h"

namespace acceld {

// An op that passed: what it names, kept alive as long as this is held.
struct CheckedOp {
  // The output has no elements: there is nothing to do, and no address was looked at (`allocations`
  // are null).
  bool nothing_to_do = false;
  // The allocation of each operand of OperandsOf(op), in its order; null for an operand of no
  // bytes, and behind the last.
  std::array<std::shared_ptr<const Allocation>, kMaxOperands> allocations;
};

// Checks, in this order: that the device has the op (unsupported); its parameters; then, unless the
// output is empty, that each operand lies inside one allocation of `space`, at a multiple of its
// element's size, and that outputs overlap nothing (invalid argument). Allocates nothing on
// success.
absl::StatusOr<CheckedOp> CheckOp(Op& op, const OpSet& supported, const AddressSpace& space);

// Checks what does not depend on an address space: that the device has the op and its parameters.
absl::Status CheckOpShape(const Op& op, const OpSet& supported);

// Replaces each operand's address by that of its bytes on the device; 0 for an operand of no bytes.
void TranslateAddresses(Op& op, const CheckedOp& checked);

}  // namespace acceld
