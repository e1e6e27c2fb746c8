// What gather and scatter check alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace acceld {

// Rows and columns are dimensions, both arrays fit into 2^62 bytes, and every index is in [0,
// rows).
absl::Status CheckRowIndices(std::int64_t rows, std::int64_t columns,
                             absl::Span<const std::int64_t> indices, std::string_view op_name);

}  // namespace acceld
