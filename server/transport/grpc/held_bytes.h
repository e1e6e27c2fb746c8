// Memory that a call holds for a session besides the command channel's, counted against the
// session's limit of bytes in flight, so that many calls at once cannot take all there is.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/session/session.h"

namespace acceld {

class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(HeldBytes&& other) noexcept { *this = std::move(other); }
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(session_, other.session_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() {
    if (session_ != nullptr) session_->ReturnBytes(bytes_);
  }

  // Counts `bytes` in `session` until it goes; LIMIT_EXCEEDED where the session holds too much
  // already.
  static absl::StatusOr<HeldBytes> Take(std::shared_ptr<Session> session, std::uint64_t bytes) {
    if (!session->TakeBytes(bytes)) {
      return OutOfMemory(
          fmt::format("The session's unfinished calls would hold more than {} bytes; "
                      "wait for some of them.",
                      session->limits().bytes_in_flight),
          reason::kLimitExceeded);
    }
    HeldBytes held;
    held.session_ = std::move(session);
    held.bytes_ = bytes;
    return held;
  }

 private:
  std::shared_ptr<Session> session_;
  std::uint64_t bytes_ = 0;
};

}  // namespace acceld
