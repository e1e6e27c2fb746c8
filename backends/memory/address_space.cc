#include "backends/memory/address_space.h"

#include <algorithm>
#include <iterator>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

using Wide = unsigned __int128;

Wide AlignUp(Wide value) {
  return (value + kAddressAlignment - 1) / kAddressAlignment * kAddressAlignment;
}

}  // namespace

AddressRange::AddressRange(Address first, Address limit)
    : next_(static_cast<Address>(std::min<Wide>(AlignUp(first), limit))), limit_(limit) {}

absl::StatusOr<Address> AddressRange::Take(std::uint64_t size_bytes) {
  const Address base = next_;
  ACCELD_RETURN_IF_ERROR(Reserve(base, size_bytes));
  return base;
}

absl::Status AddressRange::Claim(Address base, std::uint64_t size_bytes) {
  if (base % kAddressAlignment != 0) {
    return InvalidArgument(fmt::format("Address {:#x} of an allocation is not a multiple of {}.",
                                       base, kAddressAlignment));
  }
  if (base < next_) {
    return InvalidArgument(fmt::format(
        "Address {:#x} of an allocation does not grow; the lowest allowed one is {:#x}.", base,
        next_));
  }
  if (base >= limit_) {
    return InvalidArgument(fmt::format(
        "Address {:#x} of an allocation is outside its range, which ends at {:#x}.", base, limit_));
  }
  return Reserve(base, size_bytes);
}

absl::Status AddressRange::Reserve(Address base, std::uint64_t size_bytes) {
  const Wide end = AlignUp(Wide{base} + size_bytes + kAddressGap);
  if (end > limit_) {
    return OutOfMemory(fmt::format(
        "An allocation of {} bytes at address {:#x} does not fit into the address range, which "
        "ends at {:#x}.",
        size_bytes, base, limit_));
  }
  next_ = static_cast<Address>(end);
  return absl::OkStatus();
}

void AddressSpace::Insert(std::shared_ptr<const Allocation> allocation) {
  const Address base = allocation->base();
  allocations_.emplace(base, std::move(allocation));
}

absl::StatusOr<std::shared_ptr<const Allocation>> AddressSpace::Remove(Address base) {
  const auto found = allocations_.find(base);
  if (found == allocations_.end()) return NotAStart(base, "to free");
  std::shared_ptr<const Allocation> removed = std::move(found->second);
  allocations_.erase(found);
  return removed;
}

absl::StatusOr<std::shared_ptr<const Allocation>> AddressSpace::FindStart(
    Address base, std::string_view action) const {
  const auto found = allocations_.find(base);
  if (found == allocations_.end()) return NotAStart(base, action);
  if (!found->second->error().ok()) return found->second->error();
  return found->second;
}

absl::Status AddressSpace::NotAStart(Address address, std::string_view action) const {
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const Allocation& allocation = *std::prev(after)->second;
    if (const std::uint64_t offset = address - allocation.base();
        offset < allocation.size_bytes()) {
      return InvalidArgument(fmt::format(
          "Address {:#x} {} lies {} bytes inside the allocation at {:#x}; only the address of an "
          "allocation's start is allowed.",
          address, action, offset, allocation.base()));
    }
  }
  return InvalidArgument(
      fmt::format("Address {:#x} {} is of no allocation, or freed already.", address, action),
      reason::kUnknownAddress);
}

absl::StatusOr<std::shared_ptr<const Allocation>> AddressSpace::Find(
    Address address, unsigned __int128 bytes, absl::FunctionRef<std::string()> what) const {
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const std::shared_ptr<const Allocation>& allocation = std::prev(after)->second;
    const std::uint64_t offset = address - allocation->base();
    const std::uint64_t size_bytes = allocation->size_bytes();
    // Addresses in the gap were reached by walking off this allocation's end.
    if (offset < size_bytes || offset - size_bytes < kAddressGap) {
      if (!allocation->error().ok()) return allocation->error();
      if (offset < size_bytes && bytes <= size_bytes - offset) return allocation;
      return InvalidArgument(fmt::format("{} ends at byte {}, beyond its allocation of {} bytes.",
                                         what(), offset + bytes, size_bytes));
    }
  }
  return InvalidArgument(
      fmt::format("{} has address {:#x}, which is of no allocation, or freed.", what(), address),
      reason::kUnknownAddress);
}

absl::StatusOr<std::shared_ptr<const Allocation>> AddressSpace::FindBase(
    Address base, std::string_view what) const {
  const auto found = allocations_.find(base);
  if (found == allocations_.end()) {
    return InvalidArgument(
        fmt::format("{} has address {:#x}, at which no allocation starts, or which was freed.",
                    what, base),
        reason::kUnknownAddress);
  }
  if (!found->second->error().ok()) return found->second->error();
  return found->second;
}

}  // namespace acceld
