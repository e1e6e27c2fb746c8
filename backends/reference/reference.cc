#include "backends/reference/reference.h"

#include <variant>

namespace acceld::reference {

void Run(const Op& op) {
  std::visit(
      []<typename OpType>(const OpType& typed) {
        // Names the op's own function, so that an op without one does not compile.
        static_cast<void (*)(const OpType&)> (&Run)(typed);
      },
      op);
}

}  // namespace acceld::reference
