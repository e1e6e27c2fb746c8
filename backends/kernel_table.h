// A device's table of kernels, one per op. Leaving an op out does not compile; `nullptr` says that
// the device does not have it.
#pragma once

#include <tuple>
#include <type_traits>
#include <variant>

#include "absl/status/status.h"
#include "backends/core/status.h"
#include "backends/ops/op.h"

namespace acceld {

// `Context` is what the device's kernels need besides the op: threads, a GPU stream, workspace.
template <typename Context>
class KernelTable {
 public:
  template <typename OpType>
  using Kernel = absl::Status (*)(const OpType&, Context&);

 private:
  template <typename Variant>
  struct KernelsOf;
  template <typename... OpTypes>
  struct KernelsOf<std::variant<OpTypes...>> {
    using type = std::tuple<Kernel<OpTypes>...>;
  };
  using Kernels = typename KernelsOf<Op>::type;

 public:
  // One kernel per op, in the order of `Op`.
  template <typename... K>
  explicit constexpr KernelTable(K... kernels) : kernels_(kernels...) {
    static_assert(sizeof...(K) == kOpCount, "A kernel table names every op.");
  }

  constexpr OpSet supported_ops() const {
    OpSet supported;
    std::size_t index = 0;
    std::apply([&](auto... kernel) { (supported.set(index++, kernel != nullptr), ...); }, kernels_);
    return supported;
  }

  absl::Status Run(const Op& op, Context& context) const {
    return std::visit(
        [&](const auto& typed) -> absl::Status {
          const auto kernel = std::get<Kernel<std::decay_t<decltype(typed)>>>(kernels_);
          if (kernel == nullptr) return UnsupportedError("The device has no kernel for this op.");
          return kernel(typed, context);
        },
        op);
  }

 private:
  Kernels kernels_;
};

}  // namespace acceld
