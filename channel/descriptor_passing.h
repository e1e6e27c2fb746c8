// Descriptors of files over a Unix socket (SCM_RIGHTS, unix(7)).
#pragma once

#include <cstddef>
#include <deque>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/core/unique_fd.h"

namespace acceld {

// Sends `bytes`, at least one, with `descriptor`, which stays the caller's. Does not block:
// kUnavailable where the socket takes no more, and where it is closed.
absl::Status SendWithDescriptor(int socket, absl::Span<const std::byte> bytes, int descriptor);
// The same of as many of `bytes` as there is room for, which it returns; with 0, the descriptor is
// not sent either.
absl::StatusOr<std::size_t> SendSomeWithDescriptor(int socket, absl::Span<const std::byte> bytes,
                                                   int descriptor);

// Receives up to `target.size()` bytes, which are how many it returns, and the descriptors that
// come with them, appended to `descriptors`, closed on exec; one that this process had no room for
// is invalid. 0 where there is nothing yet;
// kUnavailable once the socket is closed.
absl::StatusOr<std::size_t> ReceiveWithDescriptors(int socket, absl::Span<std::byte> target,
                                                   std::deque<UniqueFd>& descriptors);

}  // namespace acceld
