#include "backends/null/null_device.h"

#include <cstring>
#include <new>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

constexpr std::align_val_t kAlignment{256};

// Memory that reads as zero; null where the host has no more.
std::byte* NewMemory(std::uint64_t bytes) {
  void* const data = ::operator new(bytes, kAlignment, std::nothrow);
  if (data != nullptr) std::memset(data, 0, bytes);
  return static_cast<std::byte*>(data);
}

void DeleteMemory(std::byte* data) { ::operator delete(data, kAlignment); }

absl::Status HostOutOfMemory(std::uint64_t bytes) {
  return OutOfMemory(fmt::format("The host has no {} bytes left.", bytes));
}

}  // namespace

NullDevice::NullDevice(const NullDeviceOptions& options) {
  info_.ordinal = options.ordinal;
  info_.uuid = fmt::format("null-{}", options.ordinal);
  info_.name = "null";
  info_.total_memory_bytes = options.memory_bytes;
  info_.free_memory_bytes = options.memory_bytes;
}

MemoryUsage NullDevice::memory() const {
  MutexLock lock(mutex_);
  return {.total_bytes = info_.total_memory_bytes,
          .free_bytes = info_.total_memory_bytes - used_bytes_};
}

absl::StatusOr<std::byte*> NullDevice::Allocate(std::uint64_t bytes, const MemoryOptions&) {
  {
    MutexLock lock(mutex_);
    const std::uint64_t free_bytes = info_.total_memory_bytes - used_bytes_;
    if (bytes > free_bytes) {
      return OutOfMemory(
          fmt::format("An allocation of {} bytes exceeds the {} bytes that null device {} has free "
                      "of its {}.",
                      bytes, free_bytes, info_.ordinal, info_.total_memory_bytes));
    }
    used_bytes_ += bytes;
  }
  std::byte* const data = NewMemory(bytes);
  if (data != nullptr) return data;
  MutexLock lock(mutex_);
  used_bytes_ -= bytes;
  return HostOutOfMemory(bytes);
}

void NullDevice::Release(std::byte* data, std::uint64_t bytes) {
  DeleteMemory(data);
  MutexLock lock(mutex_);
  used_bytes_ -= bytes;
}

absl::StatusOr<std::byte*> NullDevice::AllocateHost(std::uint64_t bytes) {
  if (bytes > info_.total_memory_bytes) {
    return OutOfMemory(
        fmt::format("{} bytes of host memory exceed the {} that null device {} allows.", bytes,
                    info_.total_memory_bytes, info_.ordinal));
  }
  std::byte* const data = NewMemory(bytes);
  if (data == nullptr) return HostOutOfMemory(bytes);
  return data;
}

void NullDevice::ReleaseHost(std::byte* data, std::uint64_t) { DeleteMemory(data); }

absl::StatusOr<DeviceQueue> NullDevice::CreateQueue(int) {
  MutexLock lock(mutex_);
  return DeviceQueue{++last_queue_};
}

void NullDevice::Submit(DeviceQueue, const Work&, WorkDone done) {
  done({.status = absl::OkStatus(),
        .device_time = std::chrono::nanoseconds(0),
        .finished = std::chrono::steady_clock::now()});
}

}  // namespace acceld
