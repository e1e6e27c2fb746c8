// Tells a forked child from the process that made an object: the threads behind a connection do not
// exist in the child, so nothing that needs them may be called there.
#pragma once

#include <cstdint>

namespace acceld {

class ForkGuard {
 public:
  ForkGuard() : generation_(Generation()) {}

  // Whether this process is a child, forked after the object was made.
  bool InChild() const { return generation_ != Generation(); }

 private:
  // How many forks lie between the program's start and this process.
  static std::uint64_t Generation();

  const std::uint64_t generation_;
};

}  // namespace acceld
