// gather: chosen rows of a table, such as the embeddings of tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// output[i, :] = table[indices[i], :]; table is [rows, columns] f32, row-major, output
// [indices.size(), columns]. An index outside [0, rows) is an invalid argument, and nothing is
// written.
struct Gather {
  static constexpr std::string_view kName = "gather";
  static constexpr OpClass kClass = OpClass::kMemory;
  static constexpr bool kInPlace = false;

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> indices{};
  Address table = 0;
  Address output = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
