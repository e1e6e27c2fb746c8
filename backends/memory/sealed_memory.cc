#include "backends/memory/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status NoSharedMemory(std::uint64_t bytes, const char* call) {
  return OutOfMemory(fmt::format("The system gives no {} bytes of shared memory: {}: {}.", bytes,
                                 call, std::strerror(errno)));
}

// What the system says it can still give, in bytes; all of its memory where it does not say.
std::uint64_t AvailableBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// A signal undoes the piece it interrupts, so that one piece has to be short.
constexpr std::uint64_t kPieceBytes = 16 * 1024 * 1024;

bool ReserveAll(int descriptor, std::uint64_t bytes) {
  for (std::uint64_t begin = 0; begin < bytes;) {
    const std::uint64_t piece = std::min(kPieceBytes, bytes - begin);
    if (fallocate(descriptor, 0, static_cast<off_t>(begin), static_cast<off_t>(piece)) == 0) {
      begin += piece;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<SealedMemory> SealedMemory::Create(const char* name, std::uint64_t bytes) {
  if (bytes == 0) return InvalidArgument("Shared memory of 0 bytes: it has at least 1 byte.");
  SealedMemory memory(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), bytes);
  if (memory.fd() < 0) return NoSharedMemory(bytes, "memfd_create");
  // To reserve more than there is makes the system end processes before it refuses.
  if (const std::uint64_t available = AvailableBytes(); bytes > available) {
    return OutOfMemory(fmt::format(
        "The system has no {} bytes of shared memory left: {} are available.", bytes, available));
  }
  const std::uint64_t file_bytes = memory.mapped_bytes();
  if (ftruncate(memory.fd(), static_cast<off_t>(file_bytes)) != 0) {
    return NoSharedMemory(bytes, "ftruncate");
  }
  // Else it would be the first access to a page that finds no memory, and that is a signal.
  if (!ReserveAll(memory.fd(), file_bytes)) return NoSharedMemory(bytes, "fallocate");
  if (fcntl(memory.fd(), F_ADD_SEALS, kSeals) != 0) return NoSharedMemory(bytes, "F_ADD_SEALS");
  ACCELD_RETURN_IF_ERROR(memory.Map());
  return memory;
}

absl::StatusOr<SealedMemory> SealedMemory::Open(int descriptor, std::uint64_t bytes) {
  SealedMemory memory(descriptor, bytes);
  if (bytes == 0) return InvalidArgument("Shared memory of 0 bytes: it has at least 1 byte.");
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    return InvalidArgument(fmt::format("Descriptor {} of shared memory cannot be used: {}.",
                                       descriptor, std::strerror(errno)));
  }
  if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) < bytes) {
    return InvalidArgument(
        fmt::format("The file of shared memory has {} bytes; it needs {}.", status.st_size, bytes));
  }
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return InvalidArgument(fmt::format(
        "The file of shared memory has the seals {:#x}; it needs {:#x}, so that it stays as it is.",
        seals < 0 ? 0 : seals, kSeals));
  }
  ACCELD_RETURN_IF_ERROR(memory.Map());
  return memory;
}

std::uint64_t SealedMemory::mapped_bytes() const {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return (size_bytes_ + page - 1) / page * page;
}

absl::Status SealedMemory::Map() {
  // Populated, since each page's first access would cost a fault otherwise.
  void* const data = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                          fd(), /*offset=*/0);
  if (data == MAP_FAILED) return NoSharedMemory(size_bytes_, "mmap");
  data_ = static_cast<std::byte*>(data);
  process_ = getpid();
  if (madvise(data, size_bytes_, MADV_DONTFORK) != 0) {
    return NoSharedMemory(size_bytes_, "MADV_DONTFORK");
  }
  return absl::OkStatus();
}

void SealedMemory::Discard() const {
  // Of the size that was asked for, whose last page is whole in the file.
  struct stat status;
  if (fstat(fd(), &status) != 0) return;
  fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size);
}

SealedMemory::~SealedMemory() {
  // In a forked child other memory may be where the mapping was.
  if (data_ != nullptr && process_ == getpid()) munmap(data_, size_bytes_);
}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      process_(other.process_) {}

SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(data_, other.data_);
  std::swap(process_, other.process_);
  return *this;
}

}  // namespace acceld
