// Every kernel of the CUDA device as data; see grid.h for what a kernel is. A driver that launches
// one visits the variant; run_on_host.h runs it on the host.
#pragma once

#include <variant>

#include "backends/cuda/kernels/grid.h"
#include "backends/cuda/kernels/unary.h"

namespace acceld::cuda {

struct Kernel final : std::variant<UnaryKernel> {
  using variant::variant;
};

inline Grid GridOf(const Kernel& kernel) {
  return std::visit([](const auto& typed) { return typed.grid(); }, kernel);
}

}  // namespace acceld::cuda
