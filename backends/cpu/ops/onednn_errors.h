// The exceptions of oneDNN's interface as errors.
#pragma once

#include <fmt/format.h>

#include <dnnl.hpp>
#include <new>
#include <string_view>

#include "backends/core/status.h"

namespace acceld::cpu {

// What `status`, which is not dnnl_success, of oneDNN's `what` ("product") means.
inline absl::Status OneDnnError(std::string_view what, dnnl_status_t status,
                                std::string_view detail = "") {
  if (status == dnnl_out_of_memory) {
    return OutOfMemory(fmt::format("The host has no memory left for oneDNN's {}.", what));
  }
  if (status == dnnl_unimplemented) {
    return UnsupportedError(fmt::format("oneDNN has no kernel for this {}.", what));
  }
  return DeviceError(fmt::format("oneDNN's {} failed with status {}{}{}.", what,
                                 static_cast<int>(status), detail.empty() ? "" : ": ", detail));
}

// Calls `run`, which returns a status or a StatusOr and whose exceptions become errors.
template <typename Run>
auto WithOneDnnErrors(std::string_view what, Run run) -> decltype(run()) {
  try {
    return run();
  } catch (const dnnl::error& error) {
    return OneDnnError(what, error.status, error.what());
  } catch (const std::bad_alloc&) {
    return OneDnnError(what, dnnl_out_of_memory);
  }
}

}  // namespace acceld::cpu
