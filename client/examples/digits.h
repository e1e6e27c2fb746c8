// The handwritten digits that the example learns (digits/README.md says where they are from).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace acceld::examples {

inline constexpr std::int64_t kImageSide = 8;
inline constexpr std::int64_t kPixels = kImageSide * kImageSide;
inline constexpr std::int64_t kClasses = 10;

struct Digits {
  // [count, kPixels], row by row, from 0 (white) to 1 (black).
  std::vector<float> pixels;
  // [count], from 0 to 9.
  std::vector<int> labels;

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

// Unpacks the images that are built into the program.
absl::StatusOr<Digits> LoadDigits();

}  // namespace acceld::examples
