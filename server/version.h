// The release this is.
#pragma once

namespace acceld {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace acceld
