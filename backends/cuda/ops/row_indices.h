// The lists of rows of gather and scatter, on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/core/status.h"
#include "backends/cuda/context.h"

namespace acceld::cuda {

// A copy of `rows`, which is not empty, for the time of the op.
inline absl::StatusOr<const std::int64_t*> UploadRows(const std::vector<std::int64_t>& rows,
                                                      CudaContext& context) {
  ACCELD_ASSIGN_OR_RETURN(const std::byte* const copy,
                          context.Upload({reinterpret_cast<const std::byte*>(rows.data()),
                                          rows.size() * sizeof(std::int64_t)}));
  return reinterpret_cast<const std::int64_t*>(copy);
}

}  // namespace acceld::cuda
