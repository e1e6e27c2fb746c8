#include "client/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace acceld {
namespace {

std::atomic<std::uint64_t> generation{0};

}  // namespace

std::uint64_t ForkGuard::Generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++generation; });
  (void)registered;
  return generation;
}

}  // namespace acceld
