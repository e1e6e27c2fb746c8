// A client's share of a device: its addresses, streams and events, with the checks, the order and
// the errors that ComputeBackend promises. LocalBackend waits on one in process; the daemon has one
// in each session. Nothing here waits: what takes time calls `done` when it is finished.
//
// The life of an op: Run checks it against the address space, pins the memory it names, translates
// its addresses, and appends it to its stream (StreamSet), which carries it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "backends/context/program_table.h"
#include "backends/context/stream_set.h"
#include "backends/core/mutex.h"
#include "backends/device.h"
#include "backends/memory/address_space.h"
#include "backends/memory/memory_account.h"

namespace acceld {

// What one context may have at a time.
struct ContextLimits {
  std::size_t streams = 1024;
  std::size_t events = 65536;
  std::size_t allocations = 1 << 20;
  // Each has a descriptor.
  std::size_t mappable_allocations = 64;
  // Whether another process may open memory of this client's.
  bool direct_opening = true;
  ProgramLimits programs{};
};

// The host's view of mappable memory.
struct MappedMemory {
  absl::Span<std::byte> bytes;
  // The file behind it, for a process that is to map it too: Device::MappableFile.
  int descriptor = -1;
  // Keeps the memory and the descriptor, also where the allocation is freed meanwhile.
  std::shared_ptr<const void> owner;
};

// Thread-safe. The rules of `done` are StreamSet's.
class DeviceContext final : public StreamSet {
 public:
  // A context on an initialized device. Its work goes to `sink`: `device` itself, or a scheduler in
  // front of it. `device` outlives the context. What is allocated counts in
  // `memory`.
  static absl::StatusOr<std::shared_ptr<DeviceContext>> Create(
      Device& device, std::shared_ptr<WorkSink> sink, const ContextLimits& limits = {},
      std::shared_ptr<MemoryAccount> memory = std::make_shared<MemoryAccount>());

  // ---- Memory ----

  // `chosen` is an address a client chose; the context chooses where it is 0. After a failure,
  // naming a chosen address returns the same error, and freeing it succeeds (unless the address was
  // not one that may be chosen, or far too many have failed and none was freed).
  absl::StatusOr<Address> Alloc(std::uint64_t bytes, const AllocOptions& options,
                                Address chosen = 0);
  // Ends the allocation's mapping too.
  absl::Status Free(Address address);

  // As ComputeBackend's.
  absl::StatusOr<MappedMemory> Map(Address address);
  absl::Status Unmap(Address address);
  absl::StatusOr<ShareableHandle> ExportHandle(Address address) const;
  absl::StatusOr<Address> ImportHandle(const ShareableHandle& handle);

  // Bytes that allocations hold, also freed ones whose work is not done.
  std::uint64_t live_bytes() const { return memory_->used_bytes(); }

  // Whether [address, address + bytes) lies in one allocation; `what` names it in the error.
  absl::Status CheckRange(Address address, std::uint64_t bytes, std::string_view what) const;

  // ---- Work ----

  absl::Status Run(Op op, Stream stream, Done&& done = nullptr);
  // What Run checks of an op.
  absl::Status CheckRun(Op op) const;
  // `source` may be reused when `done` is called, with the stream's error if the copy was skipped.
  // `host` keeps it alive if need be.
  absl::Status Write(Address target, absl::Span<const std::byte> source, Stream stream,
                     std::shared_ptr<const void> host, Done&& done);
  // `target` is filled when `done` is called with OK. With `takes_error`, an error of the stream is
  // cleared by giving it to `done`.
  absl::Status Read(absl::Span<std::byte> target, Address source, Stream stream, bool takes_error,
                    std::shared_ptr<const void> host, Done&& done);
  // Sends work to the device that does nothing there.
  absl::Status NoOp(Stream stream, Done&& done);

  // ---- Programs; see ProgramTable ----

  absl::StatusOr<Program> DefineProgram(std::vector<ProgramItem> items,
                                        Program chosen = Program{0});
  absl::Status DestroyProgram(Program program);
  // `done` is called when all of it is finished, with the stream's error if some was skipped.
  absl::Status Replay(Program program, absl::Span<const Rebinding> rebindings, Stream stream,
                      Done&& done = nullptr);

  // How many items a program may have.
  std::size_t max_program_items() const { return max_program_items_; }

  // As StreamSet's, and frees everything (what running work names, when that is done).
  void Close();

 private:
  DeviceContext(Device& device, std::shared_ptr<WorkSink> sink, DeviceQueue default_queue,
                const ContextLimits& limits, std::shared_ptr<MemoryAccount> memory);

  absl::Status CheckOpen() const ACCELD_REQUIRES(mutex_);
  // Submits a copy of `bytes` bytes between the host and `address`; `work` makes it from where that
  // is.
  absl::Status Copy(Address address, std::uint64_t bytes, std::string_view what, Stream stream,
                    absl::FunctionRef<Work(std::byte*)> work, bool takes_error,
                    std::shared_ptr<const void> host, Done&& done);
  absl::StatusOr<std::byte*> AllocateOnDevice(std::uint64_t bytes, const AllocOptions& options);
  // Whether there may be another allocation.
  absl::Status CheckRoom(const AllocOptions& options) const ACCELD_REQUIRES(mutex_);
  // The mappable allocation that starts at `address`; `action` as in AddressSpace::FindStart.
  absl::StatusOr<std::shared_ptr<const Allocation>> FindMappable(Address address,
                                                                 std::string_view action) const
      ACCELD_REQUIRES(mutex_);
  // What an allocation of `bytes` bytes takes of the device.
  std::uint64_t BytesTaken(std::uint64_t bytes, const AllocOptions& options) const;
  // Takes the address that a client chose.
  absl::Status Claim(Address chosen, std::uint64_t bytes) ACCELD_REQUIRES(mutex_);
  // Lets a chosen address stand for the error of its allocation; returns the error.
  absl::Status FailAlloc(Address chosen, std::uint64_t bytes, absl::Status error)
      ACCELD_REQUIRES(mutex_);

  Device& device_;
  const OpSet supported_ops_;
  const std::size_t max_allocations_;
  const std::size_t max_mappable_;
  const std::size_t max_program_items_;
  const bool direct_opening_;
  // Shared with allocations, which may outlive the context.
  const std::shared_ptr<MemoryAccount> memory_;

  mutable Mutex mutex_;
  bool closed_ ACCELD_GUARDED_BY(mutex_) = false;
  AddressSpace addresses_ ACCELD_GUARDED_BY(mutex_);
  AddressRange client_addresses_ ACCELD_GUARDED_BY(mutex_) = AddressSpace::ClientRange();
  AddressRange server_addresses_ ACCELD_GUARDED_BY(mutex_) = AddressSpace::ServerRange();
  ProgramTable programs_ ACCELD_GUARDED_BY(mutex_);
  // Calls of Alloc that have not returned, which count for the limit.
  std::size_t allocating_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::size_t allocating_mappable_ ACCELD_GUARDED_BY(mutex_) = 0;
  // The mappable allocations, and whether each is mapped.
  absl::flat_hash_map<Address, bool> mappable_ ACCELD_GUARDED_BY(mutex_);
  absl::flat_hash_set<Address> openable_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
