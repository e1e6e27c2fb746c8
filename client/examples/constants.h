// Arrays of one repeated value. The ops of a backend are few and general; much of what is missing
// is an op there is with a constant operand: a bias is an outer product with ones, a relu's mask a
// multiplication and a minimum.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/core/status.h"
#include "client/examples/buffer.h"

namespace acceld::examples {

struct Constants {
  // 1.
  Buffer ones;
  // 1e30: what is above 0 becomes more than 1 when it is multiplied by this.
  Buffer huge;
  // 1e-30: a probability that is as good as 0 but has a logarithm.
  Buffer tiny;

  // Each of `count` elements. Its place does not change, so that layers may point to it.
  static absl::StatusOr<std::unique_ptr<const Constants>> Create(ComputeBackend& backend,
                                                                 std::int64_t count) {
    const auto repeat = [&](float value) {
      return Buffer::Of(backend, std::vector<float>(static_cast<std::size_t>(count), value));
    };
    auto constants = std::make_unique<Constants>();
    ACCELD_ASSIGN_OR_RETURN(constants->ones, repeat(1));
    ACCELD_ASSIGN_OR_RETURN(constants->huge, repeat(1e30F));
    ACCELD_ASSIGN_OR_RETURN(constants->tiny, repeat(1e-30F));
    return constants;
  }
};

}  // namespace acceld::examples
