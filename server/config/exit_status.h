// The daemon's exit statuses besides EXIT_SUCCESS, after it has drained, and EXIT_FAILURE, where it
// cannot run. README.md and deploy/systemd/acceld.service list them.
#pragma once

namespace acceld {

// Its command line or configuration is wrong.
inline constexpr int kExitUsage = 2;

// One of its devices was lost, which only another process can use again, if any.
inline constexpr int kExitDeviceLost = 3;

}  // namespace acceld
