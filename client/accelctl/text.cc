#include "client/accelctl/text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/accelctl/table.h"
#include "client/accelctl/units.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace acceld::accelctl {
namespace {

using Align = Table::Align;

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string DeviceId(const v1::Device& device) {
  return fmt::format("{}:{}", device.kind(), device.ordinal());
}

std::string ComputeCapability(const v1::Device& device) {
  if (device.compute_capability_major() == 0) return "-";
  return fmt::format("{}.{}", device.compute_capability_major(), device.compute_capability_minor());
}

std::string CapabilitiesText(const v1::Capabilities& capabilities) {
  const std::pair<bool, const char*> flags[] = {
      {capabilities.fp16(), "fp16"},
      {capabilities.bf16(), "bf16"},
      {capabilities.fp8(), "fp8"},
      {capabilities.tensor_cores(), "tensor cores"},
      {capabilities.peer_access(), "peer access"},
      {capabilities.unified_memory(), "unified memory"},
      {capabilities.cluster_launch(), "cluster launch"},
      {capabilities.async_copy(), "async copy"},
  };
  std::vector<const char*> names;
  for (const auto& [is_there, name] : flags) {
    if (is_there) names.push_back(name);
  }
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, ", "));
}

// A protocol version that is not set means 1.
std::string Versions(const v1::ProtocolVersions& versions) {
  const std::uint32_t lowest = std::max(versions.lowest(), 1u);
  const std::uint32_t highest = std::max(versions.highest(), lowest);
  return lowest == highest ? fmt::format("{}", lowest) : fmt::format("{} to {}", lowest, highest);
}

std::string Lines(const std::vector<std::pair<std::string, std::string>>& lines) {
  Table table({{.title = ""}, {.title = ""}});
  for (const auto& [name, value] : lines) table.AddRow({name, value});
  return table.ToString().substr(1);  // Without the line of titles.
}

std::string FreeMemory(const v1::Device& device) {
  if (!device.has_free_memory_bytes()) return "free not known until a session uses it";
  return FormatBytes(device.free_memory_bytes()) + " free";
}

std::string DeviceLines(const v1::Device& device) {
  const v1::Capabilities& capabilities = device.capabilities();
  return Lines({
      {"  name", OrDash(device.name())},
      {"  uuid", OrDash(device.uuid())},
      {"  memory", fmt::format("{} {}, {}", FormatBytes(device.total_memory_bytes()),
                               device.memory_kind(), FreeMemory(device))},
      {"  compute capability", ComputeCapability(device)},
      {"  capabilities", CapabilitiesText(capabilities)},
      {"  block",
       fmt::format("{} threads, {} of shared memory", capabilities.max_threads_per_block(),
                   FormatBytes(static_cast<std::uint64_t>(
                       capabilities.max_shared_memory_per_block_bytes())))},
      {"  warp", fmt::format("{}", capabilities.warp_size())},
      {"  ops", fmt::format("{}", fmt::join(device.supported_ops(), ", "))},
  });
}

std::string LimitLines(const v1::Limits& limits) {
  return Lines({
      {"  message", FormatBytes(limits.message_bytes())},
      {"  commands in a message", fmt::format("{}", limits.message_commands())},
      {"  read", FormatBytes(limits.read_bytes())},
      {"  streams of a session", fmt::format("{}", limits.streams())},
      {"  events of a session", fmt::format("{}", limits.events())},
      {"  allocations of a session", fmt::format("{}", limits.allocations())},
      {"  programs of a session",
       fmt::format("{}, {} in all", limits.programs(), FormatBytes(limits.program_bytes()))},
      {"  items of a program", fmt::format("{}", limits.program_items())},
      {"  commands in flight of a session", fmt::format("{}", limits.commands_in_flight())},
      {"  host memory of a session", FormatBytes(limits.host_memory_bytes())},
      {"  ring", FormatBytes(limits.ring_bytes())},
      {"  staging", FormatBytes(limits.staging_bytes())},
      {"  sessions", fmt::format("{}", limits.sessions())},
  });
}

std::string BackendsText(const v1::ServerInfo& info) {
  Table table({{.title = "BACKEND"}, {.title = "AVAILABLE"}, {.title = "REASON"}});
  for (const v1::Backend& backend : info.backends()) {
    table.AddRow({backend.kind(), backend.available() ? "yes" : "no", backend.reason()});
  }
  return table.ToString();
}

}  // namespace

std::string InfoText(const v1::ServerInfo& info, const std::string& endpoint) {
  std::string text = Lines({
      {"endpoint", endpoint},
      {"version", info.version()},
      {"protocol", Versions(info.protocol_versions())},
      {"features", OrDash(fmt::format("{}", fmt::join(info.features(), ", ")))},
      {"state", info.draining() ? "draining" : "open"},
  });
  text += "\nlimits\n" + LimitLines(info.limits());
  text += "\n" + BackendsText(info);
  for (const v1::Device& device : info.devices()) {
    text += fmt::format("\ndevice {}\n", Printable(DeviceId(device))) + DeviceLines(device);
  }
  return text;
}

std::string DevicesText(const v1::ServerInfo& info) {
  Table table({{.title = "DEVICE"},
               {.title = "NAME"},
               {.title = "MEMORY", .align = Align::kRight},
               {.title = "FREE", .align = Align::kRight},
               {.title = "KIND OF MEMORY"},
               {.title = "COMPUTE CAPABILITY", .align = Align::kRight},
               {.title = "UUID"}});
  for (const v1::Device& device : info.devices()) {
    table.AddRow({DeviceId(device), OrDash(device.name()), FormatBytes(device.total_memory_bytes()),
                  device.has_free_memory_bytes() ? FormatBytes(device.free_memory_bytes()) : "-",
                  device.memory_kind(), ComputeCapability(device), OrDash(device.uuid())});
  }
  return table.ToString();
}

std::string SessionsText(const v1::ListSessionsResponse& response) {
  Table table({{.title = "ID", .align = Align::kRight},
               {.title = "IDENTITY"},
               {.title = "PID", .align = Align::kRight},
               {.title = "MEMORY", .align = Align::kRight},
               {.title = "HOST MEMORY", .align = Align::kRight},
               {.title = "DEVICE TIME", .align = Align::kRight},
               {.title = "OPS", .align = Align::kRight},
               {.title = "CLIENT"},
               {.title = "BACKEND"},
               {.title = "TRANSPORT"},
               {.title = "AGE", .align = Align::kRight}});
  for (const v1::SessionUsage& session : response.sessions()) {
    table.AddRow({fmt::format("{}", session.id()), session.identity(),
                  session.pid() == 0 ? "-" : fmt::format("{}", session.pid()),
                  FormatBytes(session.memory_bytes()), FormatBytes(session.host_bytes()),
                  FormatMicroseconds(session.device_time_us()), fmt::format("{}", session.ops()),
                  OrDash(session.client_name()), session.backend(), session.transport(),
                  FormatAge(session.age_ms())});
  }
  return fmt::format("{}\n{} {}, {} of device memory\n", table.ToString(), response.session_count(),
                     response.session_count() == 1 ? "session" : "sessions",
                     FormatBytes(response.live_bytes()));
}

}  // namespace acceld::accelctl
