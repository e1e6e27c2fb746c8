#include "client/connect_log.h"

#include <cstdio>
#include <cstdlib>

#include "backends/core/values.h"
#include "fmt/format.h"

namespace acceld {

void LogConnected(const ConnectOptions& options, std::string_view endpoint,
                  const SessionDescription& session) {
  const char* const asked = std::getenv("ACCELD_LOG");
  if (!options.log && (asked == nullptr || *asked == '\0')) return;
  std::string line =
      fmt::format("acceld: connected to {}, session {} on {}:{}, over {}", endpoint, session.id,
                  Name(session.device.kind), session.device.ordinal, session.transport);
  line += session.transport_note.empty() ? "." : fmt::format(": {}", session.transport_note);
  if (options.log) return options.log(line);
  fmt::print(stderr, "{}\n", line);
}

}  // namespace acceld
