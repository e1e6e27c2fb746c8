#include "backends/context/program_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "backends/ops/check_op.h"
#include "fmt/format.h"

namespace acceld {

using internal::BoundProgram;
using internal::ProgramStep;

namespace {

std::uint64_t BytesOf(const std::vector<ProgramItem>& items) {
  std::uint64_t bytes = items.size() * sizeof(ProgramItem);
  for (const ProgramItem& item : items) {
    if (const Op* op = std::get_if<Op>(&item)) bytes += ListBytesOf(*op);
  }
  return bytes;
}

std::uint64_t BytesOf(const BoundProgram& bound) {
  std::uint64_t bytes = sizeof(BoundProgram) + bound.steps.size() * sizeof(ProgramStep) +
                        bound.buffers.size() * sizeof(Address) +
                        bound.events.size() * sizeof(EventItem);
  for (const ProgramStep& step : bound.steps) {
    const Work* work = std::get_if<Work>(&step);
    if (work == nullptr) continue;
    if (const Op* op = std::get_if<Op>(work)) bytes += ListBytesOf(*op);
  }
  for (const auto& program : bound.device_programs) {
    bytes += sizeof(DeviceProgram) + program->ops().size() * sizeof(Op);
    for (const Op& op : program->ops()) bytes += ListBytesOf(op);
  }
  return bytes;
}

absl::Status BeyondReplacement(const Operand& operand, const Op& op, std::uint64_t offset,
                               const Allocation& replacement) {
  return InvalidArgument(fmt::format(
      "Operand {} of {} in a program ends at byte {}, beyond the allocation of {} bytes at address "
      "{:#x} that it is bound to.",
      operand.name, OpName(op), offset + operand.ExtentBytes(), replacement.size_bytes(),
      replacement.base()));
}

// What `item`, whose op passed the checks, is when it is replayed.
ProgramStep ToStep(Op op, const CheckedOp& checked) {
  TranslateAddresses(op, checked);
  return Work(std::move(op));
}

// The one of `buffers`, which are sorted by `base`, that starts last at or below `address`.
template <typename Buffers>
std::size_t BufferOf(const Buffers& buffers, Address address) {
  const auto after =
      std::upper_bound(buffers.begin(), buffers.end(), address,
                       [](Address value, const auto& buffer) { return value < buffer.base; });
  return static_cast<std::size_t>(after - buffers.begin()) - 1;
}

bool IsOp(const ProgramStep& step) {
  const Work* work = std::get_if<Work>(&step);
  return work != nullptr && std::holds_alternative<Op>(*work);
}

// Puts programs of `device` in the place of ops that follow one another.
void JoinOps(Device& device, BoundProgram& bound) {
  std::vector<ProgramStep> steps = std::exchange(bound.steps, {});
  for (auto first = steps.begin(); first != steps.end();) {
    const auto limit = std::min<std::ptrdiff_t>(ProgramTable::kMaxDeviceProgramOps,
                                                std::distance(first, steps.end()));
    const auto last = std::find_if_not(first, first + limit, IsOp);
    if (last - first < 2) {
      bound.steps.push_back(std::move(*first++));
      continue;
    }
    std::vector<Op> ops;
    ops.reserve(static_cast<std::size_t>(last - first));
    for (; first != last; ++first) {
      ops.push_back(std::move(std::get<Op>(std::get<Work>(*first))));
    }
    bound.device_programs.push_back(device.MakeProgram(std::move(ops)));
    bound.steps.push_back(Work(bound.device_programs.back().get()));
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const void>> ProgramTable::Hold(std::uint64_t bytes) {
  const auto has_room = [&] {
    const std::uint64_t used = account_->used_bytes();
    return used <= limits_.bytes && bytes <= limits_.bytes - used;
  };
  if (!has_room()) {
    for (auto& [number, recorded] : programs_) recorded.bindings.clear();
  }
  if (!has_room()) {
    return OutOfMemory(
        fmt::format("Programs and the replays that wait take {} bytes of {}, and {} more are "
                    "needed; destroy a program or synchronize first.",
                    account_->used_bytes(), limits_.bytes, bytes),
        reason::kLimitExceeded);
  }
  account_->Add(bytes);
  return std::shared_ptr<const void>(
      account_.get(), [account = account_, bytes](const void*) { account->Remove(bytes); });
}

absl::StatusOr<ProgramTable::BoundPointer> ProgramTable::Keep(BoundProgram bound) {
  struct Counted {
    BoundProgram program;
    std::shared_ptr<const void> held;
  };
  if (device_ != nullptr && device_->has_programs()) JoinOps(*device_, bound);
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<const void> held, Hold(BytesOf(bound)));
  const auto counted = std::make_shared<const Counted>(Counted{std::move(bound), std::move(held)});
  return BoundPointer(counted, &counted->program);
}

void ProgramTable::Remember(Recorded& recorded, BoundPointer bound) {
  if (recorded.bindings.size() == kMaxBindings) recorded.bindings.pop_back();
  recorded.bindings.insert(recorded.bindings.begin(), std::move(bound));
}

absl::StatusOr<Program> ProgramTable::Define(std::vector<ProgramItem> items, const OpSet& supported,
                                             const AddressSpace& space, Program chosen) {
  if (chosen != Program{0}) {
    ACCELD_RETURN_IF_ERROR(numbers_.Claim(static_cast<std::uint64_t>(chosen), "program"));
  }
  if (items.size() > limits_.items) return ProgramTooLong(items.size(), limits_.items);
  if (programs_.size() >= limits_.programs) return LimitExceeded("programs", limits_.programs);

  Recorded recorded;
  BoundProgram bound;
  for (ProgramItem& item : items) {
    if (const EventItem* event = std::get_if<EventItem>(&item)) {
      bound.events.push_back(*event);
      if (device_ != nullptr) bound.steps.push_back(*event);
      recorded.items.push_back(std::move(item));
      continue;
    }
    Op& op = std::get<Op>(item);
    ACCELD_ASSIGN_OR_RETURN(const CheckedOp checked, CheckOp(op, supported, space));
    if (checked.nothing_to_do) continue;
    for (const auto& allocation : checked.allocations) {
      if (allocation == nullptr) continue;
      recorded.buffers.push_back({allocation->base(), allocation->size_bytes()});
    }
    if (device_ != nullptr) bound.steps.push_back(ToStep(op, checked));
    recorded.items.push_back(std::move(item));
  }
  std::vector<Buffer>& buffers = recorded.buffers;
  std::sort(buffers.begin(), buffers.end(),
            [](const Buffer& a, const Buffer& b) { return a.base < b.base; });
  buffers.erase(std::unique(buffers.begin(), buffers.end(),
                            [](const Buffer& a, const Buffer& b) { return a.base == b.base; }),
                buffers.end());
  for (const Buffer& buffer : buffers) bound.buffers.push_back(buffer.base);

  ACCELD_ASSIGN_OR_RETURN(recorded.held, Hold(sizeof(Recorded) + BytesOf(recorded.items) +
                                              buffers.size() * sizeof(Buffer)));
  ACCELD_ASSIGN_OR_RETURN(BoundPointer identity, Keep(std::move(bound)));
  Remember(recorded, std::move(identity));
  const Program program = chosen != Program{0} ? chosen : Program{numbers_.Take()};
  programs_.emplace(program, std::move(recorded));
  return program;
}

absl::StatusOr<ProgramTable::Allocations> ProgramTable::FindBuffers(
    Program program, const std::vector<Buffer>& buffers, absl::Span<const Rebinding> rebindings,
    const AddressSpace& space) {
  const auto number = static_cast<std::uint64_t>(program);
  Allocations found(buffers.size());
  for (const Rebinding& rebinding : rebindings) {
    const std::size_t i = BufferOf(buffers, rebinding.recorded);
    if (i >= buffers.size() || buffers[i].base != rebinding.recorded) {
      return InvalidArgument(
          fmt::format("Address {:#x} is rebound in a replay of program {}, in which no op names an "
                      "allocation that starts there.",
                      rebinding.recorded, number));
    }
    if (found[i] != nullptr) {
      return InvalidArgument(fmt::format(
          "Address {:#x} is rebound twice in a replay of program {}.", rebinding.recorded, number));
    }
    ACCELD_ASSIGN_OR_RETURN(found[i],
                            space.FindBase(rebinding.replacement, "The replacement of a buffer"));
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (found[i] != nullptr) continue;
    ACCELD_ASSIGN_OR_RETURN(found[i], space.FindBase(buffers[i].base, "A buffer of a program"));
  }
  return found;
}

absl::StatusOr<BoundProgram> ProgramTable::Check(const Recorded& recorded,
                                                 const Allocations& allocations,
                                                 const OpSet& supported,
                                                 const AddressSpace& space) const {
  BoundProgram bound;
  for (const auto& allocation : allocations) bound.buffers.push_back(allocation->base());
  if (device_ != nullptr) bound.steps.reserve(recorded.items.size());
  for (const ProgramItem& item : recorded.items) {
    if (const EventItem* event = std::get_if<EventItem>(&item)) {
      bound.events.push_back(*event);
      if (device_ != nullptr) bound.steps.push_back(*event);
      continue;
    }
    Op op = std::get<Op>(item);
    for (const Operand& operand : OperandsOf(op)) {
      if (operand.Empty()) continue;
      const std::size_t i = BufferOf(recorded.buffers, *operand.address);
      const std::uint64_t offset = *operand.address - recorded.buffers[i].base;
      // Or it could end up in another allocation, which nobody keeps.
      if (offset + operand.ExtentBytes() > allocations[i]->size_bytes()) {
        return BeyondReplacement(operand, op, offset, *allocations[i]);
      }
      *operand.address = allocations[i]->base() + offset;
    }
    ACCELD_ASSIGN_OR_RETURN(const CheckedOp checked, CheckOp(op, supported, space));
    if (device_ != nullptr) bound.steps.push_back(ToStep(std::move(op), checked));
  }
  return bound;
}

absl::StatusOr<ProgramTable::Bound> ProgramTable::Bind(Program program,
                                                       absl::Span<const Rebinding> rebindings,
                                                       const OpSet& supported,
                                                       const AddressSpace& space) {
  const auto found = programs_.find(program);
  if (found == programs_.end()) return UnknownProgram(program);
  Recorded& recorded = found->second;
  ACCELD_ASSIGN_OR_RETURN(Allocations allocations,
                          FindBuffers(program, recorded.buffers, rebindings, space));
  std::vector<BoundPointer>& bindings = recorded.bindings;
  const auto known = std::find_if(bindings.begin(), bindings.end(), [&](const auto& bound) {
    return std::equal(
        allocations.begin(), allocations.end(), bound->buffers.begin(),
        [](const auto& allocation, Address base) { return allocation->base() == base; });
  });
  if (known != bindings.end()) {
    std::rotate(bindings.begin(), known, std::next(known));
  } else {
    ACCELD_ASSIGN_OR_RETURN(BoundProgram bound, Check(recorded, allocations, supported, space));
    ACCELD_ASSIGN_OR_RETURN(BoundPointer kept, Keep(std::move(bound)));
    Remember(recorded, std::move(kept));
  }
  return Bound{.program = bindings.front(), .allocations = std::move(allocations)};
}

absl::Status ProgramTable::Destroy(Program program) {
  return programs_.erase(program) > 0 ? absl::OkStatus() : UnknownProgram(program);
}

}  // namespace acceld
