// How a remote backend's commands reach the daemon: one sequence, in order, pipelined.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "proto/command/command.h"

namespace acceld {

// Thread-safe.
class CommandChannel {
 public:
  // Gets a command's result, on a thread of the channel's or in the call; must not block.
  using Done = absl::AnyInvocable<void(CommandResult)>;

  // Told of a command that failed and has no Done: its number and its stream.
  using OnError = absl::AnyInvocable<void(std::uint64_t number, Stream stream,
                                          const absl::Status& error) const>;

  virtual ~CommandChannel() = default;

  // Waits until the channel has room for another command of `bytes` bytes, or is closed.
  virtual void WaitForRoom(std::uint64_t bytes) = 0;

  // Sends `command` after those sent before, soon, and returns its number; numbers grow. The bytes
  // of a write are copied before it returns. When the channel is closed, or closes, `done` gets its
  // status.
  virtual std::uint64_t Send(const Command& command, Done done = nullptr) = 0;

  // OK while the channel works; then why not, for good.
  virtual absl::Status status() const = 0;
};

}  // namespace acceld
