// A cpu device in this process, and how its ops are timed against direct calls of a library or of
// plain loops with the same number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/zeroed_memory.h"
#include "backends/local/local_backend.h"
#include "tests/bench/harness/figure.h"
#include "tests/bench/harness/measurement.h"

namespace acceld::bench {

// `count` elements of the host's memory: zero, aligned to 256 bytes, in huge pages where the
// device's memory would be.
template <typename T>
class HostArray {
 public:
  explicit HostArray(std::int64_t count)
      : count_(count), data_(AllocateZeroed(bytes()), Free{bytes()}) {}

  T* data() { return reinterpret_cast<T*>(data_.get()); }
  const T* data() const { return reinterpret_cast<const T*>(data_.get()); }
  std::int64_t size() const { return count_; }
  // At least 1.
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(count_) * sizeof(T); }

 private:
  struct Free {
    std::uint64_t bytes;
    void operator()(std::byte* data) const { FreeZeroed(data, bytes); }
  };

  std::int64_t count_;
  std::unique_ptr<std::byte, Free> data_;
};

// `count` numbers evenly spread over [-1, 1); the same ones each time.
template <typename T>
HostArray<T> RandomArray(std::int64_t count);

// A cpu device with `threads` threads. With one, the device's thread and the one that makes the
// device are on the same core from then on, so that what both run can be compared.
class InProcess {
 public:
  static absl::StatusOr<std::unique_ptr<InProcess>> Create(int threads);

  ComputeBackend& backend() { return backend_; }

  // New device memory with what `values` holds.
  template <typename T>
  absl::StatusOr<Address> Upload(const HostArray<T>& values) {
    return Upload({reinterpret_cast<const std::byte*>(values.data()), values.bytes()});
  }

 private:
  explicit InProcess(int threads);
  absl::StatusOr<Address> Upload(absl::Span<const std::byte> bytes);

  LocalBackend backend_;
};

// One call: of the backend, which submits an op, or of what it is measured against.
using Call = std::function<absl::Status()>;

// How long `op`, which submits to `device`, takes over the fastest of `direct`, each called with
// `threads` OpenMP threads. Pairs of rounds of some milliseconds; a round of the device ends with
// Synchronize. The sides are in microseconds a call.
absl::StatusOr<Measurement> MeasureAgainst(const Setting& setting, int threads, InProcess& device,
                                           const Call& op, const std::vector<Call>& direct);

// A figure at one thread and one at two, `name` with _t1 and _t2 behind.
std::vector<Figure> AtOneAndTwoThreads(
    const std::string& name,
    std::function<absl::StatusOr<Measurement>(const Setting& setting, int threads)> measure);

}  // namespace acceld::bench
