// The line that Connect logs.
#pragma once

#include <string_view>

#include "client/connect.h"
#include "client/session_handle.h"

namespace acceld {

// Tells `options.log`, or where that is not set and the environment asks for it standard error, of
// a session opened at `endpoint`.
void LogConnected(const ConnectOptions& options, std::string_view endpoint,
                  const SessionDescription& session);

}  // namespace acceld
