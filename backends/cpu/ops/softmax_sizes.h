// What the ways of softmax share.
#pragma once

#include <cstdint>

namespace acceld::cpu {

// An array [outer, length, inner], normalized along length; none is 0.
struct SoftmaxSizes {
  std::int64_t outer;
  std::int64_t length;
  std::int64_t inner;
};

}  // namespace acceld::cpu
