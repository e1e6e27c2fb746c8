#include "server/transport/grpc/server_info.h"

#include <algorithm>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/wire/device_wire.h"
#include "proto/wire/utf8.h"
#include "server/version.h"

namespace acceld {
namespace {

// More devices of a kind than any machine has.
constexpr std::uint32_t kMaxOrdinal = 1 << 16;

// Of why a backend is not available.
constexpr std::size_t kMaxReasonBytes = 4096;

// The daemon takes data channels (proto/frames/frame.h).
constexpr std::string_view kDataChannelFeature = "data-channel";

}  // namespace

absl::StatusOr<std::uint32_t> NegotiateVersion(const v1::ProtocolVersions& client) {
  const std::uint32_t lowest = std::max(client.lowest(), 1u);
  const std::uint32_t highest = std::max(client.highest(), lowest);
  const std::uint32_t common = std::min(highest, kHighestProtocolVersion);
  if (common >= lowest && common >= kLowestProtocolVersion) return common;
  return UnsupportedError(
      fmt::format(
          "The client speaks the protocol versions {} to {}, the daemon {} to {}; upgrade the "
          "older of the two.",
          lowest, highest, kLowestProtocolVersion, kHighestProtocolVersion),
      reason::kVersionUnsupported);
}

absl::StatusOr<SelectionRequest> SelectionFromWire(const v1::DeviceRequest& wire) {
  SelectionRequest request{.require_gpu = wire.require_gpu(),
                           .require_fp16 = wire.require_fp16(),
                           .require_bf16 = wire.require_bf16(),
                           .require_fp8 = wire.require_fp8(),
                           .require_tensor_cores = wire.require_tensor_cores(),
                           .require_unified_memory = wire.require_unified_memory(),
                           .require_peer_access = wire.require_peer_access()};
  if (!wire.kind().empty()) {
    request.kind = Parse<BackendKind>(wire.kind());
    if (!request.kind.has_value()) {
      return InvalidArgument(
          fmt::format("There is no kind of backend called \"{}\".", BoundedUtf8(wire.kind(), 64)));
    }
  }
  switch (wire.device_case()) {
    case v1::DeviceRequest::kOrdinal:
      if (wire.ordinal() >= kMaxOrdinal) {
        return InvalidArgument(fmt::format("Device {} does not exist; ordinals are below {}.",
                                           wire.ordinal(), kMaxOrdinal));
      }
      request.device = static_cast<int>(wire.ordinal());
      break;
    case v1::DeviceRequest::kUuid:
      request.device = wire.uuid();
      break;
    case v1::DeviceRequest::DEVICE_NOT_SET:
      break;
  }
  return request;
}

void ToWire(const SessionLimits& limits, v1::Limits& wire) {
  wire.set_message_bytes(limits.message_bytes);
  wire.set_message_commands(limits.message_commands);
  wire.set_read_bytes(limits.read_bytes);
  wire.set_streams(limits.streams);
  wire.set_events(limits.events);
  wire.set_allocations(limits.allocations);
  wire.set_sessions(limits.sessions);
  wire.set_commands_in_flight(limits.commands_in_flight);
  wire.set_programs(limits.programs);
  wire.set_program_items(limits.program_items);
  wire.set_program_bytes(limits.program_bytes);
  wire.set_host_memory_bytes(limits.host_bytes);
  wire.set_ring_bytes(limits.ring_bytes);
  wire.set_staging_bytes(limits.staging_bytes);
}

void DescribeServer(const DevicePool& devices, const SessionLimits& limits, bool draining,
                    v1::ServerInfo& info) {
  info.set_version(kVersion);
  info.mutable_protocol_versions()->set_lowest(kLowestProtocolVersion);
  info.mutable_protocol_versions()->set_highest(kHighestProtocolVersion);
  info.add_features(std::string(kDataChannelFeature));
  for (const DevicePool::DescribedBackend& backend : devices.Backends()) {
    v1::Backend& wire = *info.add_backends();
    wire.set_kind(std::string(Name(backend.kind)));
    wire.set_available(backend.available);
    wire.set_reason(BoundedUtf8(backend.reason, kMaxReasonBytes));
  }
  for (const DevicePool::Described& device : devices.Devices()) {
    v1::Device& wire = *info.add_devices();
    ToWire(device.info, wire);
    ToWire(device.supported_ops, *wire.mutable_supported_ops());
  }
  ToWire(limits, *info.mutable_limits());
  info.set_draining(draining);
}

}  // namespace acceld
