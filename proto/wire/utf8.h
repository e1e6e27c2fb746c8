// Text for string fields of messages, which must be UTF-8 and should not be long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace acceld {

// `text` in at most `limit_bytes` bytes of valid UTF-8: each byte that belongs to no character
// becomes a question mark, and what is too long is cut between two characters and ends in "...",
// where that fits.
std::string BoundedUtf8(std::string_view text, std::size_t limit_bytes);

}  // namespace acceld
