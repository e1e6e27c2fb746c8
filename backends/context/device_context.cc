#include "backends/context/device_context.h"

#include <fcntl.h>

#include <utility>

#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "backends/ops/check_op.h"

namespace acceld {

using internal::PendingWork;

namespace {

// How many chosen addresses of failed allocations are kept beyond the limit of allocations.
constexpr std::size_t kFailuresBeyondLimit = 4096;

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceContext>> DeviceContext::Create(
    Device& device, std::shared_ptr<WorkSink> sink, const ContextLimits& limits,
    std::shared_ptr<MemoryAccount> memory) {
  ACCELD_ASSIGN_OR_RETURN(const DeviceQueue queue, device.CreateQueue(0));
  return std::shared_ptr<DeviceContext>(
      new DeviceContext(device, std::move(sink), queue, limits, std::move(memory)));
}

DeviceContext::DeviceContext(Device& device, std::shared_ptr<WorkSink> sink,
                             DeviceQueue default_queue, const ContextLimits& limits,
                             std::shared_ptr<MemoryAccount> memory)
    : StreamSet(device, std::move(sink), default_queue, limits.streams, limits.events),
      device_(device),
      supported_ops_(device.supported_ops()),
      max_allocations_(limits.allocations),
      max_mappable_(limits.mappable_allocations),
      max_program_items_(limits.programs.items),
      direct_opening_(limits.direct_opening),
      memory_(std::move(memory)),
      programs_(limits.programs, &device) {}

absl::Status DeviceContext::CheckOpen() const {
  return closed_ ? SessionEnded() : absl::OkStatus();
}

// ---- Memory ----

absl::StatusOr<std::byte*> DeviceContext::AllocateOnDevice(std::uint64_t bytes,
                                                           const AllocOptions& options) {
  if (options.mappable && !device_.has_mappable_memory()) return NoMappableMemory();
  if (options.openable && device_.openable_granularity() == 0) return NoOpenableMemory();
  if (bytes == 0) return EmptyAllocation();
  if (options.openable && !direct_opening_) return NoDirectOpening();
  return device_.Allocate(
      bytes, MemoryOptions{.mappable = options.mappable, .openable = options.openable});
}

std::uint64_t DeviceContext::BytesTaken(std::uint64_t bytes, const AllocOptions& options) const {
  if (!options.openable) return bytes;
  const std::uint64_t granularity = device_.openable_granularity();
  return (bytes + granularity - 1) / granularity * granularity;
}

absl::Status DeviceContext::CheckRoom(const AllocOptions& options) const {
  if (addresses_.size() + allocating_ >= max_allocations_) {
    return LimitExceeded("allocations", max_allocations_);
  }
  if (options.mappable && mappable_.size() + allocating_mappable_ >= max_mappable_) {
    return LimitExceeded("mappable allocations", max_mappable_);
  }
  return absl::OkStatus();
}

absl::Status DeviceContext::Claim(Address chosen, std::uint64_t bytes) {
  absl::Status claimed = client_addresses_.Claim(chosen, bytes);
  // The address is good and only the size is not, so the address stands for the failure.
  if (absl::IsResourceExhausted(claimed) && client_addresses_.Claim(chosen, 1).ok()) {
    return FailAlloc(chosen, 1, std::move(claimed));
  }
  return claimed;
}

absl::Status DeviceContext::FailAlloc(Address chosen, std::uint64_t bytes, absl::Status error) {
  if (chosen != 0 && !closed_ && addresses_.size() < max_allocations_ + kFailuresBeyondLimit) {
    addresses_.Insert(std::make_shared<Allocation>(chosen, bytes, error));
  }
  return error;
}

absl::StatusOr<Address> DeviceContext::Alloc(std::uint64_t bytes, const AllocOptions& options,
                                             Address chosen) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    if (chosen != 0) ACCELD_RETURN_IF_ERROR(Claim(chosen, bytes));
    if (bytes > 0) {
      if (absl::Status room = CheckRoom(options); !room.ok()) {
        return FailAlloc(chosen, bytes, std::move(room));
      }
    }
    ++allocating_;
    allocating_mappable_ += options.mappable ? 1 : 0;
  }
  // Allocating may take long, so it holds no lock.
  const absl::StatusOr<std::byte*> data = AllocateOnDevice(bytes, options);
  std::shared_ptr<const Allocation> allocation;  // Outlives the lock: releasing takes time.
  MutexLock lock(mutex_);
  --allocating_;
  allocating_mappable_ -= options.mappable ? 1 : 0;
  if (!data.ok()) return FailAlloc(chosen, bytes, data.status());
  const std::uint64_t taken_bytes = BytesTaken(bytes, options);
  memory_->Add(taken_bytes);
  absl::StatusOr<Address> base = chosen;
  if (closed_) {
    base = CheckOpen();
  } else if (chosen == 0) {
    base = server_addresses_.Take(bytes);
  }
  allocation = std::make_shared<Allocation>(
      base.value_or(0), bytes, *data,
      [device = &device_, memory = memory_, data = *data, bytes, taken_bytes] {
        device->Release(data, bytes);
        memory->Remove(taken_bytes);
      });
  if (base.ok()) {
    addresses_.Insert(std::move(allocation));
    if (options.mappable) mappable_.emplace(*base, false);
    if (options.openable) openable_.insert(*base);
  }
  return base;
}

absl::Status DeviceContext::Free(Address address) {
  std::shared_ptr<const Allocation> allocation;  // Outlives the lock: releasing takes time.
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(allocation, addresses_.Remove(address));
  mappable_.erase(address);
  openable_.erase(address);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Allocation>> DeviceContext::FindMappable(
    Address address, std::string_view action) const {
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  if (!device_.has_mappable_memory()) return NoMappableMemory();
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<const Allocation> allocation,
                          addresses_.FindStart(address, action));
  if (!mappable_.contains(address)) return NotMappable(address);
  return allocation;
}

absl::StatusOr<MappedMemory> DeviceContext::Map(Address address) {
  std::shared_ptr<const Allocation> allocation;
  {
    MutexLock lock(mutex_);
    ACCELD_ASSIGN_OR_RETURN(allocation, FindMappable(address, "to map"));
    mappable_[address] = true;
  }
  ACCELD_ASSIGN_OR_RETURN(const int descriptor, device_.MappableFile(allocation->data()));
  return MappedMemory{.bytes = absl::MakeSpan(allocation->data(), allocation->size_bytes()),
                      .descriptor = descriptor,
                      .owner = std::move(allocation)};
}

absl::Status DeviceContext::Unmap(Address address) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(FindMappable(address, "to unmap").status());
  if (!std::exchange(mappable_[address], false)) return NotMapped(address);
  return absl::OkStatus();
}

absl::StatusOr<ShareableHandle> DeviceContext::ExportHandle(Address address) const {
  std::shared_ptr<const Allocation> allocation;
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    if (device_.openable_granularity() == 0) return NoOpenableMemory();
    ACCELD_ASSIGN_OR_RETURN(allocation, addresses_.FindStart(address, "to export"));
    if (!openable_.contains(address)) return NotOpenable(address);
  }
  ACCELD_ASSIGN_OR_RETURN(UniqueFd descriptor, device_.ExportHandle(allocation->data()));
  return ShareableHandle{.descriptor = std::move(descriptor),
                         .size_bytes = allocation->size_bytes(),
                         .device_uuid = device_.info().uuid};
}

absl::StatusOr<Address> DeviceContext::ImportHandle(const ShareableHandle& handle) {
  if (device_.openable_granularity() == 0) return NoOpenableMemory();
  const std::uint64_t bytes = handle.size_bytes;
  if (handle.device_uuid != device_.info().uuid) {
    return InvalidArgument(fmt::format("The handle is of memory of device {}, and this is {}.",
                                       handle.device_uuid, device_.info().uuid));
  }
  if (bytes == 0) return InvalidArgument("The handle is of 0 bytes; memory has at least 1 byte.");
  if (fcntl(handle.descriptor.get(), F_GETFD) < 0) {
    return InvalidArgument(
        fmt::format("The handle's descriptor, {}, is not open.", handle.descriptor.get()));
  }
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_RETURN_IF_ERROR(CheckRoom({}));
    ++allocating_;
  }
  const absl::StatusOr<std::byte*> data = device_.ImportHandle(handle.descriptor.get(), bytes);
  std::shared_ptr<const Allocation> allocation;  // Outlives the lock: releasing takes time.
  MutexLock lock(mutex_);
  --allocating_;
  if (!data.ok()) return data.status();
  absl::StatusOr<Address> base = closed_ ? CheckOpen() : server_addresses_.Take(bytes);
  // Whoever allocated it accounts for it.
  allocation = std::make_shared<Allocation>(
      base.value_or(0), bytes, *data,
      [device = &device_, data = *data, bytes] { device->Release(data, bytes); });
  if (base.ok()) addresses_.Insert(std::move(allocation));
  return base;
}

absl::Status DeviceContext::CheckRange(Address address, std::uint64_t bytes,
                                       std::string_view what) const {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  return bytes == 0 ? absl::OkStatus() : addresses_.Find(address, bytes, what).status();
}

// ---- Work ----

absl::Status DeviceContext::Run(Op op, Stream stream, Done&& done) {
  auto pending = std::make_unique<PendingWork>();
  Op& submitted = pending->work.emplace<Op>(std::move(op));
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(pending->operands, CheckOp(submitted, supported_ops_, addresses_));
  }
  if (pending->operands.nothing_to_do) return SubmitNothing(stream, std::move(done));
  TranslateAddresses(submitted, pending->operands);
  return Submit(stream, {.pending = std::move(pending)}, std::move(done));
}

absl::Status DeviceContext::CheckRun(Op op) const {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  return CheckOp(op, supported_ops_, addresses_).status();
}

absl::Status DeviceContext::Copy(Address address, std::uint64_t bytes, std::string_view what,
                                 Stream stream, absl::FunctionRef<Work(std::byte*)> work,
                                 bool takes_error, std::shared_ptr<const void> host, Done&& done) {
  if (bytes == 0) return SubmitNothing(stream, std::move(done));
  std::shared_ptr<const Allocation> allocation;
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(allocation, addresses_.Find(address, bytes, what));
  }
  auto pending = std::make_unique<PendingWork>();
  pending->work = work(allocation->DataAt(address));
  pending->operands.allocations.front() = std::move(allocation);
  pending->host = std::move(host);
  return Submit(stream, {.pending = std::move(pending), .takes_error = takes_error},
                std::move(done));
}

absl::Status DeviceContext::Write(Address target, absl::Span<const std::byte> source, Stream stream,
                                  std::shared_ptr<const void> host, Done&& done) {
  const auto work = [source](std::byte* data) -> Work {
    return HostToDevice{.target = data, .source = source.data(), .bytes = source.size()};
  };
  return Copy(target, source.size(), "The target of a copy to the device", stream, work, false,
              std::move(host), std::move(done));
}

absl::Status DeviceContext::Read(absl::Span<std::byte> target, Address source, Stream stream,
                                 bool takes_error, std::shared_ptr<const void> host, Done&& done) {
  const auto work = [target](std::byte* data) -> Work {
    return DeviceToHost{.target = target.data(), .source = data, .bytes = target.size()};
  };
  return Copy(source, target.size(), "The source of a copy from the device", stream, work,
              takes_error, std::move(host), std::move(done));
}

absl::Status DeviceContext::NoOp(Stream stream, Done&& done) {
  auto pending = std::make_unique<PendingWork>();
  pending->work = HostToDevice{};
  return Submit(stream, {.pending = std::move(pending)}, std::move(done));
}

// ---- Programs ----

absl::StatusOr<Program> DeviceContext::DefineProgram(std::vector<ProgramItem> items,
                                                     Program chosen) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  return programs_.Define(std::move(items), supported_ops_, addresses_, chosen);
}

absl::Status DeviceContext::DestroyProgram(Program program) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  return programs_.Destroy(program);
}

absl::Status DeviceContext::Replay(Program program, absl::Span<const Rebinding> rebindings,
                                   Stream stream, Done&& done) {
  ProgramTable::Bound bound;
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(bound, programs_.Bind(program, rebindings, supported_ops_, addresses_));
  }
  auto replay = std::make_shared<internal::Replay>(
      internal::Replay{.program = std::move(bound.program),
                       .allocations = std::move(bound.allocations),
                       .submitted = std::chrono::steady_clock::now()});
  return Submit(stream, std::move(replay), std::move(done));
}

void DeviceContext::Close() {
  {
    AddressSpace addresses;  // Outlives the lock: releasing takes time.
    MutexLock lock(mutex_);
    closed_ = true;
    std::swap(addresses, addresses_);
    mappable_.clear();
    openable_.clear();
    programs_.Clear();
  }
  StreamSet::Close();
}

}  // namespace acceld
