// The recorded programs of one address space: the same checks in a context and in a client library.
//
// A program is kept as it was recorded, with the allocations that its ops name, its buffers. A
// replay may put other allocations in their place. Each such binding is checked whole, with the
// checks every op passes, the first time it is used; the latest of each program are remembered by
// their addresses, and then a replay only looks whether these are still allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/context/bound_program.h"
#include "backends/context/handle_range.h"
#include "backends/context/program_item.h"
#include "backends/device.h"
#include "backends/memory/address_space.h"
#include "backends/memory/memory_account.h"
#include "backends/ops/op.h"

namespace acceld {

struct ProgramLimits {
  // Programs at a time.
  std::size_t programs = 1024;
  // Of one program, at most kMaxProgramItems.
  std::size_t items = 4096;
  // What programs and their bindings take on the host, in all.
  std::uint64_t bytes = 64 << 20;
};

// Not thread-safe; what it hands out is.
class ProgramTable {
 public:
  // How many bindings of a program are remembered. More work too, but are checked again.
  static constexpr std::size_t kMaxBindings = 16;
  // Of how many ops one program for the device is made, at most; so long other work waits for it.
  static constexpr std::size_t kMaxDeviceProgramOps = 1024;

  // A program with what its replay needs: the allocations keep the memory that it names.
  using Allocations = std::vector<std::shared_ptr<const Allocation>>;
  struct Bound {
    std::shared_ptr<const internal::BoundProgram> program;
    Allocations allocations;
  };

  // `device` runs the work, and outlives the table and what it hands out. Null in a client library:
  // bindings are only checked.
  ProgramTable(const ProgramLimits& limits, Device* device) : limits_(limits), device_(device) {}

  // The program of `items`, whose ops pass the checks of CheckOp. `chosen` is a number a client
  // chose; the table chooses where it is 0. Out of memory (reason LIMIT_EXCEEDED) where there are
  // too many programs or they take too much.
  absl::StatusOr<Program> Define(std::vector<ProgramItem> items, const OpSet& supported,
                                 const AddressSpace& space, Program chosen = Program{0});
  absl::Status Destroy(Program program);
  void Clear() { programs_.clear(); }

  // `program` with the allocations that start at the `replacement`s in the place of those that
  // start at the `recorded`s. An invalid argument where one of these is not a buffer of the program
  // or named twice, an allocation is not there any more, or an op does not pass the checks.
  absl::StatusOr<Bound> Bind(Program program, absl::Span<const Rebinding> rebindings,
                             const OpSet& supported, const AddressSpace& space);

  // What the programs and their bindings take on the host, also those that only a replay keeps.
  std::uint64_t used_bytes() const { return account_->used_bytes(); }

 private:
  using BoundPointer = std::shared_ptr<const internal::BoundProgram>;

  // An allocation as it was when the program was defined.
  struct Buffer {
    Address base = 0;
    std::uint64_t size_bytes = 0;
  };

  struct Recorded {
    std::vector<ProgramItem> items{};
    // By base.
    std::vector<Buffer> buffers{};
    // Counts the above.
    std::shared_ptr<const void> held{};
    // The latest used comes first.
    std::vector<BoundPointer> bindings{};
  };

  // Adds `bytes` to the account until what is returned goes; forgets bindings where there is no
  // room.
  absl::StatusOr<std::shared_ptr<const void>> Hold(std::uint64_t bytes);
  // Makes `bound` what the device runs, and counts it.
  absl::StatusOr<BoundPointer> Keep(internal::BoundProgram bound);
  // The allocations that a replay puts in the place of `buffers`.
  static absl::StatusOr<Allocations> FindBuffers(Program program,
                                                 const std::vector<Buffer>& buffers,
                                                 absl::Span<const Rebinding> rebindings,
                                                 const AddressSpace& space);
  // `recorded` with its buffers replaced by `allocations`, if its ops pass the checks.
  absl::StatusOr<internal::BoundProgram> Check(const Recorded& recorded,
                                               const Allocations& allocations,
                                               const OpSet& supported,
                                               const AddressSpace& space) const;
  static void Remember(Recorded& recorded, BoundPointer bound);

  const ProgramLimits limits_;
  Device* const device_;
  const std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();
  HandleRange numbers_;
  absl::flat_hash_map<Program, Recorded> programs_;
};

}  // namespace acceld
