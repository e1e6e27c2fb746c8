#include "client/accelctl/units.h"

#include <array>

#include "fmt/format.h"

namespace acceld::accelctl {

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  // What would be rounded up to this is written in the next unit.
  constexpr double kNextUnit = 1023.95;
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= kNextUnit && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string FormatMicroseconds(std::uint64_t microseconds) {
  constexpr std::uint64_t kSecondsFrom = 10'000'000;
  if (microseconds >= kSecondsFrom) {
    return fmt::format("{:.1f} s", static_cast<double>(microseconds) / 1e6);
  }
  return fmt::format("{}.{:03} ms", microseconds / 1000, microseconds % 1000);
}

std::string FormatAge(std::uint64_t milliseconds) {
  const std::uint64_t seconds = milliseconds / 1000;
  const std::uint64_t minutes = seconds / 60;
  const std::uint64_t hours = minutes / 60;
  if (minutes == 0) return fmt::format("{} s", seconds);
  if (hours == 0) return fmt::format("{} min {:02} s", minutes, seconds % 60);
  if (hours < 24) return fmt::format("{} h {:02} min", hours, minutes % 60);
  return fmt::format("{} d {:02} h", hours / 24, hours % 24);
}

}  // namespace acceld::accelctl
