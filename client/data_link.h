// Opens a data channel's connection: connects, shows the session's secret, and takes the welcome.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "channel/ring_stream.h"
#include "client/endpoint.h"
#include "proto/frames/frame.h"

namespace acceld {

struct DataLink {
  std::unique_ptr<ByteStream> stream;
  // `stream`, where memory is shared.
  RingStream* ring = nullptr;
  frames::Welcome welcome;
  // As the daemon calls it, such as "shm".
  std::string transport;
  // Why there is no shared memory, where it was asked for, for people.
  std::string note;
};

// Asks for `shared_memory`, without which the link is as good as it gets. kUnavailable where no
// daemon answers, or one that knows no data channels. Otherwise the daemon's own errors.
// The session ends with the link, also where this returns an error after the welcome.
absl::StatusOr<DataLink> OpenDataLink(const Endpoint& endpoint, std::string_view secret,
                                      bool shared_memory, absl::Duration timeout);

}  // namespace acceld
