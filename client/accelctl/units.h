// Numbers with units, for people.
#pragma once

#include <cstdint>
#include <string>

namespace acceld::accelctl {

// "17 B", "1.5 MiB": binary units, one digit after the point.
std::string FormatBytes(std::uint64_t bytes);

// How long devices have worked: "0.250 ms", "17.0 s".
std::string FormatMicroseconds(std::uint64_t microseconds);

// An age in its two largest units: "12 s", "3 min 07 s", "2 h 05 min", "4 d 01 h".
std::string FormatAge(std::uint64_t milliseconds);

}  // namespace acceld::accelctl
