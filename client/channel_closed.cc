#include "client/channel_closed.h"

#include <string>
#include <string_view>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

absl::Status WhyClosed(const absl::Status& status) {
  const std::string reason = GetReason(status);
  const std::string_view message(status.message().data(), status.message().size());
  // Whatever gRPC reports of itself, to the caller the daemon is gone.
  if (reason.empty()) {
    return WithReason(
        absl::UnavailableError(fmt::format("The connection to the daemon is lost: {}",
                                           message.empty() ? "it has ended the call." : message)),
        reason::kConnectionLost);
  }
  if (status.code() != absl::StatusCode::kCancelled) return status;
  return WithReason(
      absl::UnavailableError(fmt::format("The daemon has ended the session: {}", message)), reason);
}

}  // namespace acceld
