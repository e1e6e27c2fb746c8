// What the service manager is told: readiness, status, stopping, the watchdog. See sd_notify(3).
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace acceld {

// Sends `state`, lines of NAME=VALUE such as "READY=1\nSTATUS=Serving 1 device.", to the socket
// that $NOTIFY_SOCKET names. Succeeds without doing anything where the variable is not set: nobody
// waits to be told. An error where the socket's name is not usable or nothing receives there.
absl::Status NotifyServiceManager(std::string_view state);

}  // namespace acceld
