// What is asked of OpenMP and oneDNN.
#pragma once

namespace acceld {

// Counts, while it lives, calls of any thread. One at a time.
class LibraryCalls {
 public:
  LibraryCalls();
  LibraryCalls(const LibraryCalls&) = delete;
  LibraryCalls& operator=(const LibraryCalls&) = delete;

  // Parallel regions of more than one thread.
  int regions() const;
  // Products and primitives that oneDNN ran.
  int onednn() const;
};

}  // namespace acceld
