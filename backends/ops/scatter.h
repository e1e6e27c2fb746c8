// scatter: rows written to chosen rows of a table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// table[indices[i], :] = source[i, :]; table is [rows, columns] f32, row-major, source
// [indices.size(), columns]. Rows that no index names keep their values; for a repeated index the
// last wins. An index outside [0, rows) is an invalid argument, and nothing is written.
struct Scatter {
  static constexpr std::string_view kName = "scatter";
  static constexpr OpClass kClass = OpClass::kMemory;
  static constexpr bool kInPlace = false;

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> indices{};
  Address source = 0;
  Address table = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
