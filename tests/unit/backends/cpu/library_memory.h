// The memory that oneDNN takes for itself.
#pragma once

#include <cstddef>

namespace acceld {

// While it lives, posix_memalign, where oneDNN's scratch memory comes from, has none for requests
// of `from_bytes` and more. One at a time.
class NoLibraryMemory {
 public:
  explicit NoLibraryMemory(std::size_t from_bytes);
  ~NoLibraryMemory();
  NoLibraryMemory(const NoLibraryMemory&) = delete;
  NoLibraryMemory& operator=(const NoLibraryMemory&) = delete;

  // How many requests were refused.
  int refused() const;
};

}  // namespace acceld
