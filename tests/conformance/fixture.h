// The base of the suite's tests: an initialized backend, and the way between its memory and
// vectors.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "tests/conformance/random.h"
#include "tests/conformance/status_predicates.h"
#include "tests/conformance/tolerance.h"
#include "tests/conformance/way.h"

namespace acceld::conformance {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// An address that no allocation has: for operands that must not be looked at.
inline constexpr Address kGarbage = 0xdead00;

// What is free on a real card may change by this much between two looks: others use it, and its
// driver takes some. What a test allocates to see it counted is much larger. See also
// FreeMemorySlackBytes.
inline constexpr std::uint64_t kFreeMemorySlackBytes = 8 << 20;

template <typename T>
absl::Span<const std::byte> AsBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}
template <typename T>
absl::Span<std::byte> AsWritableBytes(std::vector<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)};
}

// The address of host memory in an op for RunBoth.
template <typename T>
Address HostAddress(const std::vector<T>& values) {
  return reinterpret_cast<Address>(values.data());
}

// Whether two arrays hold the same bits; NaNs count as bits too.
template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return AsBytes(a) == AsBytes(b);
}

// kF32 for float, kF64 for double.
template <typename T>
inline constexpr DataType kTypeOf = sizeof(T) == 8 ? DataType::kF64 : DataType::kF32;

class ConformanceTest : public testing::Test {
 protected:
  ConformanceTest();
  void SetUp() override;

  ComputeBackend& backend() { return *backend_; }
  // Ends the backend, with all it holds.
  void EndBackend() { backend_.reset(); }
  // 0 where the device is no real card.
  std::uint64_t FreeMemorySlackBytes() const;
  // What is free on its device.
  std::uint64_t FreeMemoryBytes();

  // Each of these fails the test, and returns a value that names nothing, where the call fails.
  Address Alloc(std::uint64_t bytes);
  Stream NewStream();
  Event NewEvent();
  // What a test writes so is there for every stream.
  void Write(Address target, absl::Span<const std::byte> bytes);
  void Read(absl::Span<std::byte> bytes, Address source, std::optional<Stream> stream);

  // A new allocation that holds `values`.
  template <typename T>
  Address Upload(const std::vector<T>& values) {
    const Address address = Alloc(values.size() * sizeof(T));
    Write(address, AsBytes(values));
    return address;
  }

  template <typename T>
  std::vector<T> Download(Address source, std::size_t count,
                          std::optional<Stream> stream = std::nullopt) {
    std::vector<T> values(count);
    Read(AsWritableBytes(values), source, stream);
    return values;
  }
  std::vector<float> Floats(Address source, std::size_t count,
                            std::optional<Stream> stream = std::nullopt) {
    return Download<float>(source, count, stream);
  }

  // Submits some tens of milliseconds of work for a CPU, so that what follows on `stream` is
  // pending for a while.
  void KeepBusy(Stream stream, int times = 1);

  // Runs `op`, whose addresses are of host memory, on the reference there and on the device with
  // copies of its operands, and compares what they wrote. Elements of an output that are between
  // its rows, inputs, and the device's memory around each operand must keep their bits. The
  // operands may be equal, but not overlap otherwise. An operand of no bytes has a garbage address
  // on the device.
  void RunBoth(const Op& op, const Tolerance& tolerance);
  void RunBoth(const Op& op) { RunBoth(op, ToleranceOf(op)); }

  Random random_;

 private:
  // A copy to the device is ordered for its own stream, the default one, and not for others.
  void OrderUploads();

  // Prints the seed with each failure.
  testing::ScopedTrace seed_trace_;
  std::unique_ptr<ComputeBackend> backend_;
  // What KeepBusy multiplies; allocated at first use.
  Address busy_matrices_ = 0;
  std::atomic<bool> uses_streams_ = false;
};

}  // namespace acceld::conformance
