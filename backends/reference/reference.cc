#include "backends/reference/reference.h"

#include <variant>

namespace acceld::reference {

void Run(const Op& op) {
  std::visit([](const auto& typed) { Run(typed); }, op);
}

}  // namespace acceld::reference
