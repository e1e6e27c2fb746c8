#include "backends/ops/check_op.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// Whether every operand the op writes is empty.
bool WritesNothing(const OperandList& operands) {
  return std::all_of(operands.begin(), operands.end(),
                     [](const Operand& operand) { return !operand.Written() || operand.Empty(); });
}

absl::StatusOr<std::shared_ptr<const Allocation>> FindOperand(const Operand& operand,
                                                              std::string_view op_name,
                                                              const AddressSpace& space) {
  const auto what = [&] { return fmt::format("Operand {} of {}", operand.name, op_name); };
  auto allocation = space.Find(*operand.address, operand.ExtentBytes(), what);
  if (allocation.ok() && *operand.address % operand.element_bytes != 0) {
    return InvalidArgument(
        fmt::format("{} has address {:#x}, which is not a multiple of its element's {} bytes.",
                    what(), *operand.address, operand.element_bytes));
  }
  return allocation;
}

bool SamePlace(const Operand& a, const Operand& b) {
  return *a.address == *b.address && a.row_bytes == b.row_bytes && a.pitch_bytes == b.pitch_bytes &&
         a.rows == b.rows && a.batch_stride_bytes == b.batch_stride_bytes && a.batches == b.batches;
}

// Whether `written` overlaps neither itself nor any other of `operands`.
absl::Status CheckOverlap(const Operand& written, const OperandList& operands,
                          std::string_view op_name, bool in_place) {
  if (OverlapsItself(written)) {
    return InvalidArgument(fmt::format(
        "The {} blocks of operand {} of {}, {} bytes apart, share elements; an output's must not.",
        written.batches, written.name, op_name, written.batch_stride_bytes));
  }
  for (const Operand& other : operands) {
    if (&other == &written || other.Empty()) continue;
    if (in_place && !other.Written() && SamePlace(written, other)) continue;
    if (!Overlap(written, other)) continue;
    return InvalidArgument(fmt::format(
        "Operand {} of {} at address {:#x} overlaps operand {} at address {:#x}; they must {}.",
        written.name, op_name, *written.address, other.name, *other.address,
        in_place ? "be equal or share nothing" : "share nothing"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOpShape(const Op& op, const OpSet& supported) {
  if (!supported.test(op.index())) {
    return UnsupportedError(fmt::format("The device has no {}.", OpName(op)));
  }
  return CheckParameters(op);
}

absl::StatusOr<CheckedOp> CheckOp(Op& op, const OpSet& supported, const AddressSpace& space) {
  ACCELD_RETURN_IF_ERROR(CheckOpShape(op, supported));
  const OperandList operands = OperandsOf(op);
  CheckedOp checked{.nothing_to_do = WritesNothing(operands), .allocations = {}};
  if (checked.nothing_to_do) return checked;

  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].Empty()) continue;
    ACCELD_ASSIGN_OR_RETURN(checked.allocations.at(i), FindOperand(operands[i], OpName(op), space));
  }
  for (const Operand& operand : operands) {
    if (!operand.Written() || operand.Empty()) continue;
    ACCELD_RETURN_IF_ERROR(CheckOverlap(operand, operands, OpName(op), AllowsInPlace(op)));
  }
  return checked;
}

void TranslateAddresses(Op& op, const CheckedOp& checked) {
  const OperandList operands = OperandsOf(op);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Allocation* allocation = checked.allocations[i].get();
    Address& address = *operands[i].address;
    address = allocation == nullptr ? 0 : reinterpret_cast<Address>(allocation->DataAt(address));
  }
}

}  // namespace acceld
