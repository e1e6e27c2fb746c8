// How a remote backend's commands and bytes reach the daemon: one sequence, in order, pipelined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "backends/core/handles.h"
#include "proto/command/command.h"

namespace acceld {

// Thread-safe. Callbacks run on a thread of the channel's or in any call, must not block, and must
// not call the channel. When the channel closes, those that are still due get its status.
class CommandChannel {
 public:
  using Done = absl::AnyInvocable<void(CommandResult)>;
  using CopyDone = absl::AnyInvocable<void(absl::Status)>;

  // Told of a command that failed and has no callback: its number and its stream.
  using OnError = absl::AnyInvocable<void(std::uint64_t number, Stream stream,
                                          const absl::Status& error) const>;

  virtual ~CommandChannel() = default;

  // Waits until the channel has room for another command, or is closed.
  virtual void WaitForRoom() = 0;

  // Sends `command`, which is neither a write nor a read, after those sent before: soon, or where
  // the caller `waits`, once it calls Wait. Returns its number; numbers grow.
  virtual std::uint64_t Send(const Command& command, Done done = nullptr, bool waits = false) = 0;

  // How many bytes `command` takes on the wire. Encodes it.
  virtual std::uint64_t EncodedBytes(const Command& command) const = 0;

  // Copies `source` to the device, in as many commands as it takes, between which other threads may
  // send theirs. Returns once the source may be reused; or at once where `host` is given, which
  // keeps a source that lies in memory of AllocateHost and stays as it is until it is copied.
  virtual void Write(Address target, absl::Span<const std::byte> source, Stream stream,
                     std::shared_ptr<const void> host) = 0;

  // Copies `target.size()` bytes from the device, likewise. `keep_error` is command::Read's. `done`
  // is called when the bytes are there, or with the first error. Returns the last command's number.
  virtual std::uint64_t Read(absl::Span<std::byte> target, Address source, Stream stream,
                             bool keep_error, CopyDone done) = 0;

  // Waits until `ready` holds, which a callback of this channel makes true. `ready` must not block.
  virtual void Wait(absl::FunctionRef<bool()> ready) = 0;

  // Host memory that Write and Read need not stage, where the channel has such. May outlive the
  // channel.
  virtual absl::StatusOr<std::shared_ptr<std::byte>> AllocateHost(std::uint64_t bytes) = 0;

  // Whether Map can show anything.
  virtual bool CanMap() const = 0;
  // The mappable allocation of `size_bytes` bytes at `address`, shown to this process as long as
  // the result lives.
  virtual absl::StatusOr<std::shared_ptr<std::byte>> Map(Address address,
                                                         std::uint64_t size_bytes) = 0;

  // Whether the daemon can send descriptors, which ExportHandle needs.
  virtual bool BringsDescriptors() const = 0;
  // The openable allocation at `address`, without the device's UUID.
  virtual absl::StatusOr<ShareableHandle> ExportHandle(Address address) = 0;

  // OK while the channel works; then why not, for good.
  virtual absl::Status status() const = 0;
};

}  // namespace acceld
