#include "backends/cuda/openable_memory.h"

#include <fmt/format.h>

#include <utility>

#include "backends/core/status.h"
#include "backends/cuda/driver_status.h"

namespace acceld::cuda {
namespace {

// Of the card's memory, which takes microseconds.
constexpr int kMaxReadings = 16;

}  // namespace

std::uint64_t OpenableMemory::RoundUp(std::uint64_t bytes) const {
  const std::uint64_t granularity = driver_.ShareableGranularity();
  return (bytes + granularity - 1) / granularity * granularity;
}

OpenableMemory::Mapped OpenableMemory::Map(MemoryHandle memory, std::uint64_t bytes) {
  DriverResult<std::byte*> address = driver_.ReserveAddresses(bytes);
  if (!address.ok()) return {.data = address};
  DriverStatus status = driver_.MapMemory(address.value, bytes, memory);
  const bool does_not_fit = status.code == DriverCode::kFailed;
  if (status.ok()) {
    status = driver_.SetAccess(address.value, bytes);
    if (status.ok()) return {.data = address};
    (void)driver_.UnmapMemory(address.value, bytes);
  }
  (void)driver_.FreeAddresses(address.value, bytes);
  return {.data = {.status = std::move(status)}, .does_not_fit = does_not_fit};
}

DriverResult<std::byte*> OpenableMemory::Allocate(std::uint64_t bytes) {
  const std::uint64_t taken_bytes = RoundUp(bytes);
  const DriverResult<MemoryHandle> memory = Take(taken_bytes);
  if (!memory.ok()) return {.status = memory.status};
  const Mapped mapped = Map(memory.value, taken_bytes);
  if (!mapped.data.ok()) {
    GiveBack(memory.value, taken_bytes);
    return mapped.data;
  }
  MutexLock lock(mutex_);
  blocks_.emplace(mapped.data.value,
                  Block{.data = mapped.data.value, .memory = memory.value, .bytes = taken_bytes});
  return mapped.data;
}

absl::StatusOr<UniqueFd> OpenableMemory::Export(const std::byte* data) const {
  Block block;
  {
    MutexLock lock(mutex_);
    if (const auto found = blocks_.find(data); found != blocks_.end()) block = found->second;
  }
  if (block.memory == MemoryHandle{}) return UnsupportedError("The memory is not openable.");
  DriverResult<UniqueFd> descriptor = driver_.ExportMemory(block.memory);
  if (!descriptor.ok()) return ToStatus(descriptor.status, driver_.info());
  return std::move(descriptor.value);
}

absl::Status OpenableMemory::Refusal(int descriptor, std::uint64_t bytes,
                                     const DriverStatus& why) const {
  return InvalidArgument(fmt::format(
      "Descriptor {} is not of {} bytes of openable memory of cuda device {} ({}): {}: {}.",
      descriptor, bytes, driver_.info().ordinal, driver_.info().uuid, why.call, why.detail));
}

absl::StatusOr<std::byte*> OpenableMemory::Import(int descriptor, std::uint64_t bytes) {
  const std::uint64_t taken_bytes = RoundUp(bytes);
  const DriverResult<MemoryHandle> memory = driver_.ImportMemory(descriptor);
  if (memory.status.code == DriverCode::kFailed) return Refusal(descriptor, bytes, memory.status);
  if (!memory.ok()) return ToStatus(memory.status, driver_.info());
  const Mapped mapped = Map(memory.value, taken_bytes);
  // The mapping holds the memory.
  (void)driver_.ReleaseMemory(memory.value);
  if (mapped.does_not_fit) return Refusal(descriptor, bytes, mapped.data.status);
  if (!mapped.data.ok()) return ToStatus(mapped.data.status, driver_.info());
  MutexLock lock(mutex_);
  blocks_.emplace(mapped.data.value, Block{.data = mapped.data.value, .bytes = taken_bytes});
  return mapped.data.value;
}

std::optional<OpenableMemory::Block> OpenableMemory::Take(std::byte* data) {
  MutexLock lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end()) return std::nullopt;
  const Block block = found->second;
  blocks_.erase(found);
  return block;
}

void OpenableMemory::Release(const Block& block) {
  (void)driver_.UnmapMemory(block.data, block.bytes);
  (void)driver_.FreeAddresses(block.data, block.bytes);
  if (block.memory != MemoryHandle{}) GiveBack(block.memory, block.bytes);
}

DriverResult<MemoryHandle> OpenableMemory::Take(std::uint64_t bytes) {
  ++changes_begun_;
  const DriverResult<MemoryHandle> memory = driver_.CreateMemory(bytes);
  if (memory.ok()) allocated_bytes_ += bytes;
  ++changes_ended_;
  return memory;
}

void OpenableMemory::GiveBack(MemoryHandle memory, std::uint64_t bytes) {
  ++changes_begun_;
  (void)driver_.ReleaseMemory(memory);
  allocated_bytes_ -= bytes;
  ++changes_ended_;
}

DriverResult<OpenableMemory::Usage> OpenableMemory::Measure() const {
  for (int reading = 1;; ++reading) {
    const std::uint64_t ended = changes_ended_;
    const std::uint64_t allocated_bytes = allocated_bytes_;
    const DriverResult<CardMemory> card = driver_.Memory();
    if (reading < kMaxReadings && changes_begun_ != ended) continue;
    return {.status = card.status,
            .value = {.card = card.value, .allocated_bytes = allocated_bytes}};
  }
}

}  // namespace acceld::cuda
