// memset: one byte value over a range.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// Sets `bytes` bytes from `target` on to `value`.
struct Memset {
  static constexpr std::string_view kName = "memset";
  static constexpr OpClass kClass = OpClass::kMemory;
  static constexpr bool kInPlace = false;

  Address target = 0;
  std::uint8_t value = 0;
  std::uint64_t bytes = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const { return 0; }
};

}  // namespace acceld::ops
