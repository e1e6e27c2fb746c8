// The bytes of digits/optdigits.csv.gz, which the build turns into an array.
#pragma once

#include <cstddef>

namespace acceld::examples {

extern const unsigned char kDigitsGzip[];
extern const std::size_t kDigitsGzipBytes;

}  // namespace acceld::examples
