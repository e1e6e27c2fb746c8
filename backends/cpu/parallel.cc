#include "backends/cpu/parallel.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/core/mutex.h"

// libgomp is not instrumented, so ThreadSanitizer has to be told that a region's threads start
// after what came before it and end before what comes after it.
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define ACCELD_TSAN_RELEASE(tag) __tsan_release(tag)
#define ACCELD_TSAN_ACQUIRE(tag) __tsan_acquire(tag)
#define ACCELD_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define ACCELD_TSAN_RELEASE(tag) static_cast<void>(tag)
#define ACCELD_TSAN_ACQUIRE(tag) static_cast<void>(tag)
#define ACCELD_NO_TSAN
#endif

namespace acceld {
namespace {

using Body = absl::FunctionRef<void(std::int64_t, std::int64_t)>;

// `ranges` is at least 2 and at most `count`.
ACCELD_NO_TSAN void RunRegion(std::int64_t ranges, std::int64_t count, const Body& body) {
  static char before;
  static char after;
  const std::int64_t length = count / ranges;
  const std::int64_t longer = count % ranges;
  ACCELD_TSAN_RELEASE(&before);
#pragma omp parallel num_threads(static_cast <int>(ranges))
  {
    ACCELD_TSAN_ACQUIRE(&before);
    // OpenMP may give fewer threads than asked for; the ranges stay the same.
    for (std::int64_t i = omp_get_thread_num(); i < ranges; i += omp_get_num_threads()) {
      const std::int64_t begin = i * length + std::min(i, longer);
      body(begin, begin + length + (i < longer ? 1 : 0));
    }
    ACCELD_TSAN_RELEASE(&after);
  }
  ACCELD_TSAN_ACQUIRE(&after);
}

}  // namespace

void ParallelFor(int threads, std::int64_t count, std::int64_t grain, Body body) {
  if (count <= 0) return;
  const std::int64_t ranges = std::min<std::int64_t>(threads, count / grain);
  if (ranges <= 1) {
    body(0, count);
  } else {
    RunRegion(ranges, count, body);
  }
}

absl::Status TryParallelFor(int threads, std::int64_t count, std::int64_t grain,
                            absl::FunctionRef<absl::Status(std::int64_t, std::int64_t)> body) {
  Mutex mutex;
  absl::Status error;
  std::int64_t error_begin = count;
  ParallelFor(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
    absl::Status status = body(begin, end);
    if (status.ok()) return;
    const MutexLock lock(mutex);
    if (begin < error_begin) {
      error = std::move(status);
      error_begin = begin;
    }
  });
  return error;
}

ScopedOpenMpThreads::ScopedOpenMpThreads(int threads)
    : former_(omp_get_max_threads()), former_dynamic_(omp_get_dynamic()) {
  if (former_dynamic_ != 0) omp_set_dynamic(0);
  if (threads != former_) omp_set_num_threads(threads);
}

ScopedOpenMpThreads::~ScopedOpenMpThreads() {
  if (omp_get_max_threads() != former_) omp_set_num_threads(former_);
  if (former_dynamic_ != 0) omp_set_dynamic(former_dynamic_);
}

int OpenMpThreadLimit() { return omp_get_thread_limit(); }

int DefaultThreads(int cores) { return std::min({cores, OpenMpThreadLimit(), kMaxCpuThreads}); }

void LeaveOpenMpCore() {
  if (omp_get_proc_bind() == omp_proc_bind_false) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (const int id : ids) CPU_SET(static_cast<std::size_t>(id), &cores);
  }
  // Where this fails, the thread stays on its core.
  sched_setaffinity(0, sizeof cores, &cores);
}

}  // namespace acceld
