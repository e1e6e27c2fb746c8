#include "backends/cuda/real/virtual_memory.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>

#include "backends/cuda/real/cuda_errors.h"
#include "fmt/format.h"

namespace acceld::cuda {
namespace {

constexpr CUmemAllocationHandleType kHandleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// The driver's errors have the numbers of the runtime's.
DriverStatus FromResult(const char* call, CUresult result) {
  return ToDriverStatus(call, static_cast<cudaError_t>(result));
}

CUdeviceptr ToCuda(const std::byte* address) { return reinterpret_cast<CUdeviceptr>(address); }

// The function `name` as the driver has had it since version `version`.
template <typename Function>
bool Find(const char* name, unsigned version, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
  if (error != cudaSuccess) (void)cudaGetLastError();
  function = reinterpret_cast<Function>(found);
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess && found != nullptr;
}

}  // namespace

bool VirtualMemory::FindFunctions() {
  return Find("cuDeviceGetAttribute", 2000, get_attribute_) &&
         Find("cuMemGetAllocationGranularity", 10020, get_granularity_) &&
         Find("cuMemGetAllocationPropertiesFromHandle", 10020, get_properties_) &&
         Find("cuMemCreate", 10020, create_) && Find("cuMemRelease", 10020, release_) &&
         Find("cuMemExportToShareableHandle", 10020, export_) &&
         Find("cuMemImportFromShareableHandle", 10020, import_) &&
         Find("cuMemAddressReserve", 10020, reserve_) && Find("cuMemAddressFree", 10020, free_) &&
         Find("cuMemMap", 10020, map_) && Find("cuMemUnmap", 10020, unmap_) &&
         Find("cuMemSetAccess", 10020, set_access_);
}

CUmemAllocationProp VirtualMemory::Properties() const {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = kHandleType;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal_;
  return properties;
}

DriverStatus VirtualMemory::Open(int ordinal) {
  ordinal_ = ordinal;
  if (!FindFunctions()) return {};
  for (const CUdevice_attribute attribute :
       {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED}) {
    int has = 0;
    // A device's handle is its number.
    DriverStatus status =
        FromResult("cuDeviceGetAttribute", get_attribute_(&has, attribute, ordinal));
    if (!status.ok()) return status;
    if (has == 0) return {};
  }
  std::size_t granularity = 0;
  const CUmemAllocationProp properties = Properties();
  DriverStatus status =
      FromResult("cuMemGetAllocationGranularity",
                 get_granularity_(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  if (status.ok()) granularity_ = granularity;
  return status;
}

DriverResult<MemoryHandle> VirtualMemory::CreateMemory(std::uint64_t bytes) const {
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp properties = Properties();
  DriverStatus status =
      FromResult("cuMemCreate", create_(&memory, bytes, &properties, /*flags=*/0));
  return {.status = std::move(status), .value = MemoryHandle{memory}};
}

DriverResult<UniqueFd> VirtualMemory::ExportMemory(MemoryHandle memory) const {
  int descriptor = -1;
  const auto handle = static_cast<CUmemGenericAllocationHandle>(memory);
  DriverStatus status = FromResult("cuMemExportToShareableHandle",
                                   export_(&descriptor, handle, kHandleType, /*flags=*/0));
  if (!status.ok()) return {.status = std::move(status)};
  // CUDA does not say whether a program that this process starts would inherit it.
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return {.value = UniqueFd(descriptor)};
}

DriverResult<MemoryHandle> VirtualMemory::ImportMemory(int descriptor) const {
  CUmemGenericAllocationHandle memory = 0;
  // The descriptor itself is what the pointer is.
  void* const handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  DriverStatus status =
      FromResult("cuMemImportFromShareableHandle", import_(&memory, handle, kHandleType));
  if (!status.ok()) {
    // What is not supported of a descriptor is the descriptor: the card has such memory.
    if (status.code == DriverCode::kUnsupported) status.code = DriverCode::kFailed;
    return {.status = std::move(status)};
  }
  CUmemAllocationProp properties{};
  status =
      FromResult("cuMemGetAllocationPropertiesFromHandle", get_properties_(&properties, memory));
  if (status.ok() && (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
                      properties.location.id != ordinal_)) {
    status = {.code = DriverCode::kFailed,
              .call = "cuMemGetAllocationPropertiesFromHandle",
              .detail = "it is memory of another card"};
  }
  if (!status.ok()) (void)release_(memory);
  return {.status = std::move(status), .value = MemoryHandle{memory}};
}

DriverStatus VirtualMemory::ReleaseMemory(MemoryHandle memory) const {
  return FromResult("cuMemRelease", release_(static_cast<CUmemGenericAllocationHandle>(memory)));
}

DriverResult<std::byte*> VirtualMemory::ReserveAddresses(std::uint64_t bytes) const {
  CUdeviceptr address = 0;
  DriverStatus status = FromResult(
      "cuMemAddressReserve", reserve_(&address, bytes, /*alignment=*/0, /*addr=*/0, /*flags=*/0));
  return {.status = std::move(status), .value = reinterpret_cast<std::byte*>(address)};
}

DriverStatus VirtualMemory::FreeAddresses(std::byte* address, std::uint64_t bytes) const {
  return FromResult("cuMemAddressFree", free_(ToCuda(address), bytes));
}

DriverStatus VirtualMemory::MapMemory(std::byte* address, std::uint64_t bytes,
                                      MemoryHandle memory) const {
  const auto handle = static_cast<CUmemGenericAllocationHandle>(memory);
  return FromResult("cuMemMap", map_(ToCuda(address), bytes, /*offset=*/0, handle, /*flags=*/0));
}

DriverStatus VirtualMemory::SetAccess(std::byte* address, std::uint64_t bytes) const {
  CUmemAccessDesc access{};
  access.location = Properties().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return FromResult("cuMemSetAccess", set_access_(ToCuda(address), bytes, &access, /*count=*/1));
}

DriverStatus VirtualMemory::UnmapMemory(std::byte* address, std::uint64_t bytes) const {
  return FromResult("cuMemUnmap", unmap_(ToCuda(address), bytes));
}

}  // namespace acceld::cuda
