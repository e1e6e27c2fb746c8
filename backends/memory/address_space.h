// A session's own address space: virtual addresses that only grow, with a gap after each
// allocation, so that an access past the end never lands in a neighbour, and an address once freed
// is never valid again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/core/handles.h"

namespace acceld {

// Client libraries choose addresses below this; the daemon chooses from here up.
inline constexpr Address kServerAddressBase = Address{1} << 62;

// Every allocation starts at a multiple of this, in the address space and on the device.
inline constexpr std::uint64_t kAddressAlignment = 256;

// At least this much of the address space behind each allocation is never valid.
inline constexpr std::uint64_t kAddressGap = 4096;

// One allocation. Work that names it holds a reference, so that its memory outlives that work.
class Allocation {
 public:
  // `release` runs when the last reference goes; may be empty.
  Allocation(Address base, std::uint64_t size_bytes, std::byte* data,
             std::function<void()> release = nullptr)
      : base_(base), size_bytes_(size_bytes), data_(data), release_(std::move(release)) {}

  // Stands in for an allocation that failed: naming it returns `error`.
  Allocation(Address base, std::uint64_t size_bytes, absl::Status error)
      : base_(base), size_bytes_(size_bytes), error_(std::move(error)) {}

  ~Allocation() {
    if (release_) release_();
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  Address base() const { return base_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  const absl::Status& error() const { return error_; }

  // The first byte on the device; null in a client library, which has none.
  std::byte* data() const { return data_; }
  // The byte that `address`, which lies inside, names.
  std::byte* DataAt(Address address) const { return data_ + (address - base_); }

 private:
  const Address base_;
  const std::uint64_t size_bytes_;
  std::byte* const data_ = nullptr;
  const absl::Status error_;
  const std::function<void()> release_;
};

// A range of the address space from which addresses are handed out, ever higher.
class AddressRange {
 public:
  // Addresses in [first, limit).
  AddressRange(Address first, Address limit);

  // The address of a new allocation. Out of memory where the range is used up.
  absl::StatusOr<Address> Take(std::uint64_t size_bytes);

  // Takes the address a peer chose: aligned, in the range, and above all that were taken before, or
  // it is an invalid argument. Out of memory where `size_bytes` does not fit behind it.
  absl::Status Claim(Address base, std::uint64_t size_bytes);

 private:
  // Takes `size_bytes` and the gap behind them at `base`, if the range has them.
  absl::Status Reserve(Address base, std::uint64_t size_bytes);

  Address next_;
  Address limit_;
};

// The live allocations of one address space. Not thread-safe.
class AddressSpace {
 public:
  // The range client libraries choose from, and the daemon's.
  static AddressRange ClientRange() { return {1 << 20, kServerAddressBase}; }
  static AddressRange ServerRange() { return {kServerAddressBase, ~Address{0} - kAddressGap}; }

  // `allocation`'s base was taken or claimed from a range, so it is not there yet.
  void Insert(std::shared_ptr<const Allocation> allocation);

  // Takes out the allocation that starts at `base` (the memory returns when the last reference
  // goes). An address that is unknown, freed or inside an allocation is an invalid argument.
  absl::StatusOr<std::shared_ptr<const Allocation>> Remove(Address base);

  // The allocation that starts at `base`; else an invalid argument as Remove's, in which `action`
  // says what for ("to map"), or the allocation's own error.
  absl::StatusOr<std::shared_ptr<const Allocation>> FindStart(Address base,
                                                              std::string_view action) const;

  // The allocation in which [address, address + bytes) lies. `bytes` is at least 1. Otherwise an
  // invalid argument that names `what` ("Operand b of gemm"; asked for only then), or the
  // allocation's own error. Reason UNKNOWN_ADDRESS where no live allocation is at `address`.
  absl::StatusOr<std::shared_ptr<const Allocation>> Find(
      Address address, unsigned __int128 bytes, absl::FunctionRef<std::string()> what) const;
  absl::StatusOr<std::shared_ptr<const Allocation>> Find(Address address, unsigned __int128 bytes,
                                                         std::string_view what) const {
    return Find(address, bytes, [what] { return std::string(what); });
  }

  // The allocation that starts at `base`; otherwise an invalid argument, or the allocation's own
  // error, as above.
  absl::StatusOr<std::shared_ptr<const Allocation>> FindBase(Address base,
                                                             std::string_view what) const;

  std::size_t size() const { return allocations_.size(); }
  void Clear() { allocations_.clear(); }

 private:
  // What is wrong with an address `action` that is no allocation's start.
  absl::Status NotAStart(Address address, std::string_view action) const;

  // By base address.
  absl::btree_map<Address, std::shared_ptr<const Allocation>> allocations_;
};

}  // namespace acceld
