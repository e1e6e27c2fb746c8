// CUDA's virtual memory management for one card: calls of the driver itself, which the runtime has
// none for and finds when it is there.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

// As Driver's methods of these names; the card is the current device in every call.
class VirtualMemory {
 public:
  // Finds the driver's functions, and whether card `ordinal` has memory that can be exported as a
  // file descriptor: an error where it has, and what that takes cannot be told.
  DriverStatus Open(int ordinal);

  // 0 before Open, and where the card or its driver has no such memory.
  std::uint64_t granularity() const { return granularity_; }

  DriverResult<MemoryHandle> CreateMemory(std::uint64_t bytes) const;
  DriverResult<UniqueFd> ExportMemory(MemoryHandle memory) const;
  DriverResult<MemoryHandle> ImportMemory(int descriptor) const;
  DriverStatus ReleaseMemory(MemoryHandle memory) const;
  DriverResult<std::byte*> ReserveAddresses(std::uint64_t bytes) const;
  DriverStatus FreeAddresses(std::byte* address, std::uint64_t bytes) const;
  DriverStatus MapMemory(std::byte* address, std::uint64_t bytes, MemoryHandle memory) const;
  DriverStatus SetAccess(std::byte* address, std::uint64_t bytes) const;
  DriverStatus UnmapMemory(std::byte* address, std::uint64_t bytes) const;

 private:
  bool FindFunctions();
  CUmemAllocationProp Properties() const;

  int ordinal_ = 0;
  std::uint64_t granularity_ = 0;

  PFN_cuDeviceGetAttribute_v2000 get_attribute_ = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 get_granularity_ = nullptr;
  PFN_cuMemGetAllocationPropertiesFromHandle_v10020 get_properties_ = nullptr;
  PFN_cuMemCreate_v10020 create_ = nullptr;
  PFN_cuMemRelease_v10020 release_ = nullptr;
  PFN_cuMemExportToShareableHandle_v10020 export_ = nullptr;
  PFN_cuMemImportFromShareableHandle_v10020 import_ = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve_ = nullptr;
  PFN_cuMemAddressFree_v10020 free_ = nullptr;
  PFN_cuMemMap_v10020 map_ = nullptr;
  PFN_cuMemUnmap_v10020 unmap_ = nullptr;
  PFN_cuMemSetAccess_v10020 set_access_ = nullptr;
};

}  // namespace acceld::cuda
