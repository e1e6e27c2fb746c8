// Reads the daemon's configuration file.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/config/config.h"

namespace acceld {

// Larger files are not read: they are no configuration.
inline constexpr std::size_t kMaxConfigFileBytes = std::size_t{1} << 20;

// Reads the file at `path`. An empty file gives the defaults. Every error is one line, and that of
// a wrong field or value starts with its place: `FILE:LINE:COLUMN: message`.
absl::StatusOr<Config> LoadConfig(const std::string& path);

// As above, for the file's `text`; `name` stands for it in errors.
absl::StatusOr<Config> ParseConfig(std::string_view text, std::string_view name);

}  // namespace acceld
