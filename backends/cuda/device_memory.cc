#include "backends/cuda/device_memory.h"

#include <algorithm>
#include <optional>

#include "backends/core/status.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/pool_allocation.h"

namespace acceld::cuda {

DeviceMemory::~DeviceMemory() {
  {
    MutexLock lock(openable_mutex_);
    if (openable_stream_ != StreamHandle{}) (void)driver_.DestroyStream(openable_stream_);
  }
  if (stream_ == StreamHandle{}) return;
  (void)driver_.Synchronize(stream_);
  if (zeroed_ != EventHandle{}) (void)driver_.DestroyEvent(zeroed_);
  (void)driver_.DestroyStream(stream_);
}

absl::Status DeviceMemory::Init() {
  // What a former attempt has made stays.
  if (stream_ == StreamHandle{}) {
    const DriverResult<StreamHandle> stream = driver_.CreateStream(/*priority=*/0);
    if (!stream.ok()) return ToStatus(stream.status, driver_.info());
    stream_ = stream.value;
  }
  if (zeroed_ == EventHandle{}) {
    const DriverResult<EventHandle> event = driver_.CreateEvent();
    if (!event.ok()) return ToStatus(event.status, driver_.info());
    zeroed_ = event.value;
  }
  initialized_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

bool DeviceMemory::TakesTooMuch() const {
  const DriverResult<OpenableMemory::Usage> usage = openable_.Measure();
  return usage.ok() &&
         usage.value.card.pool_bytes + usage.value.allocated_bytes > budget_.limit_bytes();
}

bool DeviceMemory::IsWithinBudget() const {
  return budget_.used_bytes() <= budget_.limit_bytes() || !TakesTooMuch();
}

void DeviceMemory::KeepToBudget() {
  if (!IsWithinBudget()) GiveBackUnused();
}

void DeviceMemory::GiveBackUnused() {
  if (WaitForFrees().ok()) (void)driver_.TrimPool();
}

DriverStatus DeviceMemory::WaitForFrees() {
  // What clients gave back is behind nothing but the zeros of fresh memory.
  if (budget_.workspace_bytes() > 0) return driver_.SynchronizeAll();
  return LossUnlessOk(driver_.Synchronize(stream_));
}

absl::Status DeviceMemory::OutOfCard(std::uint64_t bytes) const {
  const DriverResult<CardMemory> card = driver_.Memory();
  if (!card.ok()) return ToStatus(card.status, driver_.info());
  return OutOfMemory(fmt::format(
      "An allocation of {} bytes exceeds what cuda device {} ({}) has: {} bytes free of {}.", bytes,
      driver_.info().ordinal, driver_.info().name, card.value.free_bytes, card.value.total_bytes));
}

absl::Status DeviceMemory::Reserve(std::uint64_t bytes) {
  const absl::Status reserved = budget_.Reserve(bytes);
  return absl::IsResourceExhausted(reserved) && FinishReleases() ? budget_.Reserve(bytes)
                                                                 : reserved;
}

absl::StatusOr<std::byte*> DeviceMemory::Allocate(std::uint64_t bytes) {
  ACCELD_RETURN_IF_ERROR(Reserve(bytes));
  absl::StatusOr<std::byte*> data = AllocateZeroed(bytes);
  if (data.ok()) {
    KeepToBudget();
  } else {
    budget_.Release(bytes);
  }
  return data;
}

absl::StatusOr<std::byte*> DeviceMemory::AllocateZeroed(std::uint64_t bytes) {
  const auto allocate = [&] {
    MutexLock lock(mutex_);
    return driver_.Allocate(stream_, bytes);
  };
  DriverResult<std::byte*> data =
      AllocateOrTrim(driver_, allocate, [this] { return WaitForFrees(); });
  if (data.status.code == DriverCode::kOutOfMemory && FinishReleases()) data = allocate();
  if (data.status.code == DriverCode::kOutOfMemory) return OutOfCard(bytes);
  if (!data.ok()) return ToStatus(data.status, driver_.info());
  MutexLock lock(mutex_);
  DriverStatus status = driver_.Memset(stream_, data.value, 0, bytes);
  if (status.ok()) status = driver_.Record(zeroed_, stream_);
  if (!status.ok()) {
    (void)driver_.Free(stream_, data.value);
    return ToStatus(status, driver_.info());
  }
  records_.fetch_add(1, std::memory_order_release);
  return data.value;
}

absl::StatusOr<std::byte*> DeviceMemory::AllocateOpenable(std::uint64_t bytes) {
  // What is beyond the budget as it is might not be rounded up.
  const std::uint64_t taken_bytes =
      bytes <= budget_.limit_bytes() ? openable_.RoundUp(bytes) : bytes;
  // Without it there would be no way to give it back.
  ACCELD_RETURN_IF_ERROR(releases_.Start());
  ACCELD_RETURN_IF_ERROR(Reserve(taken_bytes));
  absl::StatusOr<std::byte*> data = AllocateZeroedOpenable(taken_bytes);
  if (data.ok()) {
    // It takes nothing of what the pool keeps.
    if (TakesTooMuch()) GiveBackUnused();
  } else {
    budget_.Release(taken_bytes);
  }
  return data;
}

absl::StatusOr<std::byte*> DeviceMemory::AllocateZeroedOpenable(std::uint64_t bytes) {
  const auto allocate = [&] { return openable_.Allocate(bytes); };
  DriverResult<std::byte*> data =
      AllocateOrTrim(driver_, allocate, [this] { return WaitForFrees(); });
  if (data.status.code == DriverCode::kOutOfMemory && FinishReleases()) data = allocate();
  if (data.status.code == DriverCode::kOutOfMemory) return OutOfCard(bytes);
  if (!data.ok()) return ToStatus(data.status, driver_.info());
  // All that is mapped, since whoever opens it sees all. Waited for, since nothing orders another
  // process behind it.
  const DriverStatus status = ZeroNow(data.value, bytes);
  if (status.ok()) return data.value;
  openable_.Release(*openable_.Take(data.value));
  return ToStatus(status, driver_.info());
}

DriverStatus DeviceMemory::ZeroNow(std::byte* data, std::uint64_t bytes) {
  MutexLock lock(openable_mutex_);
  if (openable_stream_ == StreamHandle{}) {
    const DriverResult<StreamHandle> created = driver_.CreateStream(/*priority=*/0);
    if (!created.ok()) return created.status;
    openable_stream_ = created.value;
  }
  DriverStatus status = driver_.Memset(openable_stream_, data, 0, bytes);
  if (!status.ok()) return status;
  return LossUnlessOk(driver_.Synchronize(openable_stream_));
}

absl::StatusOr<std::byte*> DeviceMemory::Import(int descriptor, std::uint64_t bytes) {
  if (bytes > driver_.info().total_memory_bytes) {
    return InvalidArgument(fmt::format("The handle is of {} bytes, and cuda device {} ({}) has {}.",
                                       bytes, driver_.info().ordinal, driver_.info().name,
                                       driver_.info().total_memory_bytes));
  }
  ACCELD_RETURN_IF_ERROR(releases_.Start());
  return openable_.Import(descriptor, bytes);
}

absl::StatusOr<std::byte*> DeviceMemory::AllocateIn(StreamHandle stream, std::uint64_t bytes) {
  ACCELD_RETURN_IF_ERROR(budget_.Reserve(bytes));
  const DriverResult<std::byte*> data = AllocateOrTrim(driver_, stream, bytes);
  if (!data.ok()) {
    budget_.Release(bytes);
    return ToStatus(data.status, driver_.info());
  }
  KeepToBudget();
  return data.value;
}

void DeviceMemory::ReleaseIn(StreamHandle stream, std::byte* data, std::uint64_t bytes) {
  (void)driver_.Free(stream, data);
  budget_.Release(bytes);
}

void DeviceMemory::Release(std::byte* data, std::uint64_t bytes) {
  if (const std::optional<OpenableMemory::Block> block = openable_.Take(data)) {
    const std::uint64_t taken_bytes = block->taken_bytes();
    {
      MutexLock lock(releasing_mutex_);
      releasing_bytes_ += taken_bytes;
    }
    return releases_.Add([this, block = *block, taken_bytes] {
      openable_.Release(block);
      MutexLock lock(releasing_mutex_);
      budget_.Release(taken_bytes);
      releasing_bytes_ -= taken_bytes;
    });
  }
  {
    MutexLock lock(mutex_);
    (void)driver_.Free(stream_, data);
  }
  budget_.Release(bytes);
}

MemoryUsage DeviceMemory::Usage() const {
  MemoryUsage usage{.total_bytes = budget_.limit_bytes(), .free_bytes = 0};
  if (!initialized_.load(std::memory_order_acquire)) return usage;
  std::uint64_t used = 0;
  std::uint64_t releasing = 0;
  {
    MutexLock lock(releasing_mutex_);
    used = budget_.used_bytes();
    releasing = releasing_bytes_;
  }
  const DriverResult<OpenableMemory::Usage> measured = openable_.Measure();
  if (!measured.ok()) return usage;
  const auto& [card, openable_bytes] = measured.value;
  // Not what the pool says it has unused, which follows the stream's frees at some distance.
  const std::uint64_t ours = card.free_bytes + card.pool_bytes + openable_bytes;
  const std::uint64_t left = std::min(usage.total_bytes, ours);
  used -= releasing;
  usage.free_bytes = left > used ? left - used : 0;
  return usage;
}

DriverStatus DeviceMemory::OrderBehind(StreamHandle stream, std::uint64_t& seen) {
  if (records_.load(std::memory_order_acquire) == seen) return {};
  MutexLock lock(mutex_);
  DriverStatus waits = driver_.Wait(stream, zeroed_);
  if (waits.ok()) seen = records_.load(std::memory_order_relaxed);
  return waits;
}

}  // namespace acceld::cuda
