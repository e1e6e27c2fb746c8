// Memory of a fake card that other processes can map.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "tests/testing/cuda/fake_cuda_driver.h"

namespace acceld {
namespace {

using cuda::DriverCode;
using cuda::DriverResult;
using cuda::DriverStatus;
using cuda::MemoryHandle;

// So that what is read before it is written shows.
constexpr int kGarbage = 0xa5;

DriverStatus Failed(const char* call, const char* detail) {
  return {.code = DriverCode::kFailed, .call = call, .detail = detail};
}

std::byte* MapFile(void* address, std::uint64_t bytes, int file, int protection, int flags) {
  void* const mapped = mmap(address, bytes, protection, flags, file, /*offset=*/0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

}  // namespace

std::string FakeCudaDriver::FileName() const { return fmt::format("acceld-{}", info_.uuid); }

DriverResult<MemoryHandle> FakeCudaDriver::CreateMemory(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("CreateMemory"); !status.ok()) return {.status = status};
  if (bytes == 0 || bytes % options_.granularity != 0) {
    Misuse(fmt::format("CreateMemory of {} bytes: no multiple of the granularity.", bytes));
  }
  const DriverStatus full{
      .code = DriverCode::kOutOfMemory, .call = "CreateMemory", .detail = "the fake card is full"};
  if (bytes > options_.memory_bytes - HeldBytes()) return {.status = full};
  UniqueFd file(memfd_create(FileName().c_str(), MFD_CLOEXEC));
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {.status = full};
  std::byte* const data = MapFile(nullptr, bytes, file.get(), PROT_READ | PROT_WRITE, MAP_SHARED);
  if (data == nullptr) return {.status = full};
  std::memset(data, kGarbage, bytes);
  munmap(data, bytes);
  file_bytes_ += bytes;
  const MemoryHandle memory{++last_handle_};
  files_.emplace(memory, std::shared_ptr<const SharedFile>(
                             new SharedFile{.file = std::move(file), .bytes = bytes},
                             [this](const SharedFile* gone) ACCELD_REQUIRES(mutex_) {
                               file_bytes_ -= gone->bytes;
                               delete gone;
                             }));
  return {.value = memory};
}

DriverResult<UniqueFd> FakeCudaDriver::ExportMemory(MemoryHandle memory) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("ExportMemory"); !status.ok()) return {.status = status};
  const auto found = files_.find(memory);
  if (found == files_.end()) {
    Misuse("ExportMemory names memory that is not there.");
    return {.status = Failed("ExportMemory", "invalid argument")};
  }
  UniqueFd descriptor(fcntl(found->second->file.get(), F_DUPFD_CLOEXEC, 0));
  if (!descriptor.valid()) return {.status = Failed("ExportMemory", "no descriptor is left")};
  return {.value = std::move(descriptor)};
}

DriverResult<MemoryHandle> FakeCudaDriver::ImportMemory(int descriptor) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("ImportMemory"); !status.ok()) return {.status = status};
  std::array<char, 256> target{};
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  struct stat status;
  if (length < 0 || fstat(descriptor, &status) != 0 ||
      std::string_view(target.data(), static_cast<std::size_t>(length)) !=
          fmt::format("/memfd:{} (deleted)", FileName())) {
    return {.status = Failed("ImportMemory", "it is no memory of this card")};
  }
  UniqueFd file(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!file.valid()) return {.status = Failed("ImportMemory", "no descriptor is left")};
  const MemoryHandle memory{++last_handle_};
  files_.emplace(
      memory, std::make_shared<const SharedFile>(SharedFile{
                  .file = std::move(file), .bytes = static_cast<std::uint64_t>(status.st_size)}));
  return {.value = memory};
}

DriverStatus FakeCudaDriver::ReleaseMemory(MemoryHandle memory) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("ReleaseMemory");
  if (files_.erase(memory) == 0) Misuse("ReleaseMemory names memory that is not there.");
  return status;
}

DriverResult<std::byte*> FakeCudaDriver::ReserveAddresses(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("ReserveAddresses"); !status.ok()) return {.status = status};
  std::byte* const address =
      MapFile(nullptr, bytes, /*file=*/-1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (address == nullptr) return {.status = Failed("ReserveAddresses", "no addresses are left")};
  reservations_.emplace(address, Reservation{.bytes = bytes});
  return {.value = address};
}

FakeCudaDriver::Reservation* FakeCudaDriver::FindReservation(std::string_view name,
                                                             std::byte* address,
                                                             std::uint64_t bytes) {
  const auto found = reservations_.find(address);
  if (found != reservations_.end() && found->second.bytes == bytes) return &found->second;
  Misuse(fmt::format("{} names addresses that are not reserved.", name));
  return nullptr;
}

DriverStatus FakeCudaDriver::FreeAddresses(std::byte* address, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("FreeAddresses");
  const Reservation* const reservation = FindReservation("FreeAddresses", address, bytes);
  if (reservation == nullptr) return status;
  if (reservation->mapped != nullptr) Misuse("FreeAddresses comes before UnmapMemory.");
  munmap(address, bytes);
  reservations_.erase(address);
  return status;
}

DriverStatus FakeCudaDriver::MapMemory(std::byte* address, std::uint64_t bytes,
                                       MemoryHandle memory) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("MapMemory"); !status.ok()) return status;
  Reservation* const reservation = FindReservation("MapMemory", address, bytes);
  const auto file = files_.find(memory);
  if (file == files_.end()) Misuse("MapMemory names memory that is not there.");
  if (reservation == nullptr || file == files_.end()) return {};
  if (reservation->mapped != nullptr) Misuse("MapMemory names addresses that are mapped already.");
  if (bytes > file->second->bytes) return Failed("MapMemory", "the memory is smaller");
  if (MapFile(address, bytes, file->second->file.get(), PROT_NONE, MAP_SHARED | MAP_FIXED) ==
      nullptr) {
    return Failed("MapMemory", "the host maps no more");
  }
  reservation->mapped = file->second;
  return {};
}

DriverStatus FakeCudaDriver::SetAccess(std::byte* address, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("SetAccess"); !status.ok()) return status;
  const Reservation* const reservation = FindReservation("SetAccess", address, bytes);
  if (reservation == nullptr) return {};
  if (reservation->mapped == nullptr) Misuse("SetAccess comes before MapMemory.");
  mprotect(address, bytes, PROT_READ | PROT_WRITE);
  Block memory;
  memory.bytes = bytes;
  memory_.emplace(address, std::move(memory));
  return {};
}

DriverStatus FakeCudaDriver::UnmapMemory(std::byte* address, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("UnmapMemory");
  Reservation* const reservation = FindReservation("UnmapMemory", address, bytes);
  if (reservation == nullptr) return status;
  if (reservation->mapped == nullptr) Misuse("UnmapMemory names addresses that are not mapped.");
  if (const auto found = memory_.find(address); found != memory_.end()) {
    if (!lost_ && !found->second.order.AllBefore(seen_)) {
      Misuse("UnmapMemory comes before the host has seen the memory's last use done.");
    }
    memory_.erase(found);
  }
  MapFile(address, bytes, /*file=*/-1, PROT_NONE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED);
  reservation->mapped = nullptr;
  return status;
}

}  // namespace acceld
