// Memory that another process can map as well: a file without a name that can neither shrink nor
// grow, and a mapping of it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/core/unique_fd.h"

namespace acceld {

// Owns the file and the mapping, which is readable, writable and shared, and reads as zero at
// first. A forked child does not inherit the mapping, and its destructor there only closes the
// file. Whoever maps the same file may change its bytes, and punch holes in it, at any time; it
// cannot make an access to the mapping fail. Movable; as thread-safe as the bytes are.
class SealedMemory {
 public:
  // New memory of `bytes` bytes (at least 1), all of it reserved. `name` is for the system's tools
  // only. Out of memory where the system has no more memory, addresses or descriptors. Keep a
  // budget above this: at a cgroup's limit the system may end processes rather than refuse.
  static absl::StatusOr<SealedMemory> Create(const char* name, std::uint64_t bytes);

  // Maps the first `bytes` bytes (at least 1) of what Create made in another process. Takes
  // `descriptor` over, also where it fails. Invalid argument where the file is smaller or could
  // shrink or grow; out of memory where there are no addresses left.
  static absl::StatusOr<SealedMemory> Open(int descriptor, std::uint64_t bytes);

  ~SealedMemory();
  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;

  // Gives the bytes back to the system, also where another process still has the file or maps it:
  // from then on it reads zeros, and what it writes is its own to account for.
  void Discard() const;

  // The first byte; at the start of a page. Null once moved from.
  std::byte* data() const { return data_; }
  // As asked for; the bytes behind them up to the page's end are there too.
  std::uint64_t size_bytes() const { return size_bytes_; }
  // With those: whole pages.
  std::uint64_t mapped_bytes() const;
  // Stays this object's.
  int fd() const { return file_.get(); }

 private:
  // Takes `descriptor` over; nothing is mapped yet.
  SealedMemory(int descriptor, std::uint64_t size_bytes)
      : file_(descriptor), size_bytes_(size_bytes) {}
  absl::Status Map();

  UniqueFd file_;
  std::uint64_t size_bytes_;
  std::byte* data_ = nullptr;
  // The process that has the mapping.
  pid_t process_ = 0;
};

}  // namespace acceld
