// An open session: its description and the channel that its commands take.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backends/context/program_table.h"
#include "backends/core/device_info.h"
#include "backends/ops/op.h"
#include "client/command_channel.h"
#include "client/connect.h"

namespace acceld {

// What the daemon said of a session when it opened.
struct SessionDescription {
  std::uint64_t id = 0;
  DeviceInfo device;
  OpSet supported_ops;
  // Why the daemon chose this device, for people.
  std::string choice;
  // How the commands travel: "shm", "frames+unix", "frames+tcp", "grpc+unix" or "grpc+tcp".
  std::string transport;
  // Why they do not travel in a better way, for people; empty where there is none, or none was
  // asked for.
  std::string transport_note;
  // The caller, as the daemon sees it, such as "uid:1000".
  std::string identity;
  std::uint64_t streams = 0;
  std::uint64_t events = 0;
  // What one command may take.
  std::uint64_t command_bytes = 0;
  ProgramLimits programs;
};

class SessionHandle {
 public:
  // Ends the session.
  virtual ~SessionHandle() = default;
  virtual const SessionDescription& description() const = 0;
  virtual CommandChannel& channel() = 0;

  // The device as it is now: asks the daemon, and where that does not answer, as it was.
  virtual DeviceInfo CurrentDevice() = 0;
};

// Opens a session on the daemon at `endpoint`, or where the defaults of Connect say.
absl::StatusOr<std::unique_ptr<SessionHandle>> OpenSession(std::string_view endpoint,
                                                           const ConnectOptions& options,
                                                           CommandChannel::OnError on_error);

}  // namespace acceld
