// A stream over a connected socket, Unix or TCP.
#pragma once

#include "backends/core/unique_fd.h"
#include "channel/byte_stream.h"

namespace acceld {

class SocketStream final : public ByteStream {
 public:
  // `socket` becomes non-blocking; on TCP nothing is held back to be sent with more.
  explicit SocketStream(UniqueFd socket);

  absl::StatusOr<std::size_t> Read(absl::Span<std::byte> target) override;
  absl::StatusOr<std::size_t> Write(absl::Span<const std::byte> source) override;
  int fd() const override { return socket_.get(); }
  bool CheapToPoll() const override { return false; }
  bool Readable() const override { return true; }
  bool Writable() const override { return true; }
  bool PrepareToWaitForBytes() override { return true; }
  bool PrepareToWaitForRoom() override { return true; }
  absl::Status WakeUp() override { return absl::OkStatus(); }

  // Gives the socket up.
  UniqueFd Release() { return std::move(socket_); }

 private:
  UniqueFd socket_;
};

// Receives what is there from a socket, without descriptors: those that come along are closed.
absl::StatusOr<std::size_t> ReceiveBytes(int socket, absl::Span<std::byte> target);

// What calls return once the peer has closed.
absl::Status StreamClosed();

}  // namespace acceld
