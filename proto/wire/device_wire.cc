#include "proto/wire/device_wire.h"

#include <optional>
#include <string_view>

#include "proto/wire/utf8.h"

namespace acceld {

void ToWire(const Capabilities& capabilities, v1::Capabilities& wire) {
  wire.set_fp16(capabilities.fp16);
  wire.set_bf16(capabilities.bf16);
  wire.set_fp8(capabilities.fp8);
  wire.set_tensor_cores(capabilities.tensor_cores);
  wire.set_peer_access(capabilities.peer_access);
  wire.set_unified_memory(capabilities.unified_memory);
  wire.set_cluster_launch(capabilities.cluster_launch);
  wire.set_async_copy(capabilities.async_copy);
  wire.set_max_threads_per_block(capabilities.max_threads_per_block);
  wire.set_max_shared_memory_per_block_bytes(capabilities.max_shared_memory_per_block_bytes);
  wire.set_warp_size(capabilities.warp_size);
}

Capabilities FromWire(const v1::Capabilities& wire) {
  return {.fp16 = wire.fp16(),
          .bf16 = wire.bf16(),
          .fp8 = wire.fp8(),
          .tensor_cores = wire.tensor_cores(),
          .peer_access = wire.peer_access(),
          .unified_memory = wire.unified_memory(),
          .cluster_launch = wire.cluster_launch(),
          .async_copy = wire.async_copy(),
          .max_threads_per_block = wire.max_threads_per_block(),
          .max_shared_memory_per_block_bytes = wire.max_shared_memory_per_block_bytes(),
          .warp_size = wire.warp_size()};
}

void ToWire(const DeviceInfo& info, v1::Device& wire) {
  wire.set_kind(std::string(Name(info.kind)));
  wire.set_ordinal(info.ordinal);
  wire.set_uuid(BoundedUtf8(info.uuid, kMaxDeviceNameBytes));
  wire.set_name(BoundedUtf8(info.name, kMaxDeviceNameBytes));
  wire.set_compute_capability_major(info.compute_capability_major);
  wire.set_compute_capability_minor(info.compute_capability_minor);
  wire.set_total_memory_bytes(info.total_memory_bytes);
  if (info.free_memory_bytes) {
    wire.set_free_memory_bytes(*info.free_memory_bytes);
  } else {
    wire.clear_free_memory_bytes();
  }
  wire.set_memory_kind(std::string(Name(info.memory_kind)));
  ToWire(info.capabilities, *wire.mutable_capabilities());
}

DeviceInfo FromWire(const v1::Device& wire) {
  return {.kind = Parse<BackendKind>(wire.kind()).value_or(BackendKind{}),
          .ordinal = wire.ordinal(),
          .uuid = BoundedUtf8(wire.uuid(), kMaxDeviceNameBytes),
          .name = BoundedUtf8(wire.name(), kMaxDeviceNameBytes),
          .compute_capability_major = wire.compute_capability_major(),
          .compute_capability_minor = wire.compute_capability_minor(),
          .total_memory_bytes = wire.total_memory_bytes(),
          .free_memory_bytes =
              wire.has_free_memory_bytes() ? std::optional(wire.free_memory_bytes()) : std::nullopt,
          .memory_kind = Parse<MemoryKind>(wire.memory_kind()).value_or(MemoryKind{}),
          .capabilities = wire.has_capabilities() ? FromWire(wire.capabilities()) : Capabilities{}};
}

void ToWire(const OpSet& ops, google::protobuf::RepeatedPtrField<std::string>& names) {
  names.Clear();
  for (std::size_t index = 0; index < kOpCount; ++index) {
    if (ops.test(index)) *names.Add() = std::string(OpName(index));
  }
}

OpSet OpSetFromWire(const google::protobuf::RepeatedPtrField<std::string>& names) {
  OpSet ops;
  for (const std::string& name : names) {
    if (const std::size_t index = OpIndex(name); index < kOpCount) ops.set(index);
  }
  return ops;
}

}  // namespace acceld
