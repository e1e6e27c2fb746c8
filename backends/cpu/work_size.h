// Which work is small: run by one thread, and where nothing else waits, by the thread that submits
// it, since waking another one takes longer than the work.
#pragma once

#include <cstdint>

#include "backends/device.h"

namespace acceld {

// A product, a convolution or an attention of up to this many floating-point operations is small:
// those of matrices of 64 rows and columns, with alpha and beta.
inline constexpr double kSmallFlops = 2.0 * 64 * 64 * (64 + 2);

// So are other ops of up to this many.
inline constexpr double kSmallElementwiseFlops = 32 * 1024;
// ... that write up to this much: 4,096 elements.
inline constexpr std::uint64_t kSmallOutputBytes = 16 * 1024;

// Copies and fills of up to this much are small: a piece of a large copy from or to a client, which
// takes 15 to 25 us, where waking the worker takes 28.
inline constexpr std::uint64_t kSmallCopyBytes = 256 * 1024;

// Depends on the op and its shape only.
bool IsSmall(const Work& work);

}  // namespace acceld
