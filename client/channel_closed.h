// What calls on a backend return once its channel is closed.
#pragma once

#include "absl/status/status.h"

namespace acceld {

// `why` is what the transport, or the daemon, said. Always kUnavailable or an error of the daemon's
// own, with a reason.
absl::Status WhyClosed(const absl::Status& why);

}  // namespace acceld
