// Descriptions of devices between structs and acceld.v1.
#pragma once

#include <cstddef>
#include <string>

#include "acceld/v1/device.pb.h"
#include "backends/core/device_info.h"
#include "backends/ops/op.h"

namespace acceld {

// Longer names and UUIDs are cut.
inline constexpr std::size_t kMaxDeviceNameBytes = 256;

// Set every field of `wire` that the struct has.
void ToWire(const Capabilities& capabilities, v1::Capabilities& wire);
void ToWire(const DeviceInfo& info, v1::Device& wire);

Capabilities FromWire(const v1::Capabilities& wire);
// Without capabilities, the default profile. A kind this build does not know is not valid
// (IsValid).
DeviceInfo FromWire(const v1::Device& wire);

// Ops by name, as in Device.supported_ops.
void ToWire(const OpSet& ops, google::protobuf::RepeatedPtrField<std::string>& names);
// Names this build does not know are left out.
OpSet OpSetFromWire(const google::protobuf::RepeatedPtrField<std::string>& names);

}  // namespace acceld
