#include "backends/ops/check_enum.h"

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld::internal {

absl::Status InvalidEnum(int value, std::string_view op_name, std::string_view argument,
                         std::string_view allowed_first, std::string_view allowed_last) {
  return InvalidArgument(
      fmt::format("Argument {} of {} is the unknown value {}; it must be one of {} to {}.",
                  argument, op_name, value, allowed_first, allowed_last));
}

}  // namespace acceld::internal
