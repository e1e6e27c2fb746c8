// Loops split over threads. The split depends on the count, the grain and the configured threads
// only, never on load, so that the same op gives the same bits alone or among others.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "backends/cpu/host_resources.h"

namespace acceld {

// Calls body(begin, end) for adjacent ranges that together are [0, count), on up to `threads`
// threads; each range but the last has at least `grain` (>= 1) elements. With one range no parallel
// region is opened. `body` must not throw.
void ParallelFor(int threads, std::int64_t count, std::int64_t grain,
                 absl::FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

// Likewise for a body that may fail. All ranges are run; the error returned is that of the first
// range that has one.
absl::Status TryParallelFor(
    int threads, std::int64_t count, std::int64_t grain,
    absl::FunctionRef<absl::Status(std::int64_t begin, std::int64_t end)> body);

// While it lives, the OpenMP libraries that this thread calls (OpenBLAS, oneDNN) use at most
// `threads` threads. With 1 they open no parallel region. OpenMP gives a region as many threads as
// it asks for, whatever OMP_DYNAMIC says: those of a product wait for each other.
class ScopedOpenMpThreads {
 public:
  explicit ScopedOpenMpThreads(int threads);
  ~ScopedOpenMpThreads();
  ScopedOpenMpThreads(const ScopedOpenMpThreads&) = delete;
  ScopedOpenMpThreads& operator=(const ScopedOpenMpThreads&) = delete;

 private:
  const int former_;
  const int former_dynamic_;
};

// How many threads OpenMP gives a region at most (OMP_THREAD_LIMIT).
int OpenMpThreadLimit();

// The most threads a CPU device can be given.
inline constexpr int kMaxCpuThreads = 1024;

// How many threads a device has that is not told: one a core of the `cores` that this process may
// use, within both limits.
int DefaultThreads(int cores = UsableCores());

// With OMP_PROC_BIND=spread in the environment, OpenMP keeps the threads of a region on cores of
// their own, without which the system may leave two of them on one core for milliseconds while
// another is idle. It then also puts the thread that loads it, main's, on the first core. Lets the
// calling thread, and those it makes from then on, run on every core that OpenMP may use.
void LeaveOpenMpCore();

}  // namespace acceld
