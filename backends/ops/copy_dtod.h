// copy_dtod: bytes from one place of device memory to another.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// Copies `bytes` bytes from `source` to `target`. The two ranges must not overlap.
struct CopyDtoD {
  static constexpr std::string_view kName = "copy_dtod";
  static constexpr OpClass kClass = OpClass::kMemory;
  static constexpr bool kInPlace = false;

  Address target = 0;
  Address source = 0;
  std::uint64_t bytes = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const { return 0; }
};

}  // namespace acceld::ops
