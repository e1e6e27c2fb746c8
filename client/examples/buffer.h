// Device memory with an owner.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"

namespace acceld::examples {

// The address of element `index` of an f32 array: address arithmetic is allowed inside an
// allocation.
constexpr Address ElementAt(Address array, std::int64_t index) {
  return array + static_cast<Address>(index) * sizeof(float);
}

// An array of f32 on the device, freed with this object. The backend outlives it.
class Buffer {
 public:
  // An array of `count` zeros; fresh device memory reads as zero.
  static absl::StatusOr<Buffer> Zeros(ComputeBackend& backend, std::int64_t count);
  // A copy of `values`.
  static absl::StatusOr<Buffer> Of(ComputeBackend& backend, absl::Span<const float> values);

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~Buffer() {
    // An error here means that the daemon is gone, and the memory with it.
    if (address_ != 0) backend_->Free(address_).IgnoreError();
  }

  Address address() const { return address_; }

 private:
  Buffer(ComputeBackend* backend, Address address) : backend_(backend), address_(address) {}

  ComputeBackend* backend_ = nullptr;
  Address address_ = 0;
};

// Copies from `source` on the device to all of `target`. Waits for the work submitted before, and
// returns the error of whatever of it failed.
absl::Status Download(ComputeBackend& backend, Address source, absl::Span<float> target);

}  // namespace acceld::examples
