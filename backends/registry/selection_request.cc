#include "backends/registry/selection_request.h"

#include <cstddef>
#include <vector>

#include "absl/strings/escaping.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace acceld {
namespace {

constexpr std::size_t kMaxShownUuidBytes = 64;

}  // namespace

std::string_view SelectionRequest::MissingCapability(const Capabilities& capabilities) const {
  if (require_fp16 && !capabilities.fp16) return "fp16";
  if (require_bf16 && !capabilities.bf16) return "bf16";
  if (require_fp8 && !capabilities.fp8) return "fp8";
  if (require_tensor_cores && !capabilities.tensor_cores) return "tensor cores";
  if (require_unified_memory && !capabilities.unified_memory) return "unified memory";
  if (require_peer_access && !capabilities.peer_access) return "peer access";
  return "";
}

std::string SelectionRequest::ToString() const {
  std::vector<std::string> parts;
  if (require_gpu) parts.emplace_back("require_gpu");
  if (require_fp16) parts.emplace_back("require_fp16");
  if (require_bf16) parts.emplace_back("require_bf16");
  if (require_fp8) parts.emplace_back("require_fp8");
  if (require_tensor_cores) parts.emplace_back("require_tensor_cores");
  if (require_unified_memory) parts.emplace_back("require_unified_memory");
  if (require_peer_access) parts.emplace_back("require_peer_access");
  if (kind.has_value()) parts.push_back(fmt::format("kind: {}", Name(*kind)));
  if (device.has_value()) parts.push_back(fmt::format("device: {}", acceld::ToString(*device)));
  if (parts.empty()) parts.emplace_back("anything");
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string ToString(const DeviceSelector& device) {
  if (const int* ordinal = std::get_if<int>(&device)) return std::to_string(*ordinal);
  const std::string& uuid = std::get<std::string>(device);
  if (uuid.size() <= kMaxShownUuidBytes) return absl::CHexEscape(uuid);
  return absl::CHexEscape(uuid.substr(0, kMaxShownUuidBytes)) + "…";
}

}  // namespace acceld
