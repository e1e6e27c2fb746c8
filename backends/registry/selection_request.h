// What a caller wants of a backend.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "backends/core/device_info.h"
#include "backends/core/values.h"

namespace acceld {

// A device by its ordinal among those of its kind, or by its UUID.
using DeviceSelector = std::variant<int, std::string>;

// Accepts anything available unless told otherwise.
struct SelectionRequest {
  bool require_gpu = false;
  bool require_fp16 = false;
  bool require_bf16 = false;
  bool require_fp8 = false;
  bool require_tensor_cores = false;
  bool require_unified_memory = false;
  bool require_peer_access = false;
  std::optional<BackendKind> kind{};
  std::optional<DeviceSelector> device{};

  // The first capability that is required and not in `capabilities`, such as "tensor cores"; empty
  // where all are there.
  std::string_view MissingCapability(const Capabilities& capabilities) const;

  // "{require_gpu, kind: cuda, device: 1}"; "{anything}" for an empty request. The UUID, which a
  // client chooses freely, is escaped and cut to 64 bytes.
  std::string ToString() const;

  friend bool operator==(const SelectionRequest&, const SelectionRequest&) = default;
};

// "1" or "GPU-…", as SelectionRequest::ToString shows it.
std::string ToString(const DeviceSelector& device);

}  // namespace acceld
