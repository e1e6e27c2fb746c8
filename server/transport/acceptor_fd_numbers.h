// Descriptor numbers that are not soon used again.
#pragma once

#include "backends/core/unique_fd.h"

namespace acceld {

// gRPC names a connection by its descriptor's number, and the kernel always gives the lowest free
// one, so that the name of a connection just closed would be the next one's. Numbers from here go
// around instead. Not thread-safe.
class FdNumbers {
 public:
  // Numbers in [first, limit), in turn, where they are free.
  FdNumbers(int first, int limit) : first_(first), limit_(limit), next_(first) {}

  // Another descriptor for what `fd` names, closed on exec. Falls back to any free number where the
  // range has none. Invalid, with errno set, where the process may open no more.
  UniqueFd Duplicate(int fd);

 private:
  const int first_;
  const int limit_;
  int next_;
};

}  // namespace acceld
