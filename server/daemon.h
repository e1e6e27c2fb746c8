// The daemon: puts its parts together, serves until it is told to stop, and drains.
#pragma once

#include "absl/status/status.h"
#include "backends/registry/registry.h"
#include "server/config/config.h"

namespace acceld {

// Serves the devices of `registry`, which is probed, as `config` says. Returns OK when it has
// drained after SIGTERM, SIGINT or an administrator's request; an error where it could not start.
// Where a device in use was lost it drains too, and then ends the process with kExitDeviceLost.
//
// SIGTERM and SIGINT are blocked when it is called, before any thread is started.
absl::Status RunDaemon(const Config& config, Registry registry);

// Blocks the signals that RunDaemon takes, in this thread and those it starts from now on.
void BlockDaemonSignals();

}  // namespace acceld
