// A stream over a connected socket, Unix or TCP.
#pragma once

#include <deque>

#include "backends/core/unique_fd.h"
#include "channel/byte_stream.h"

namespace acceld {

class SocketStream final : public ByteStream {
 public:
  // `socket` becomes non-blocking; on TCP nothing is held back to be sent with more. Of a Unix
  // socket, the descriptors that the peer sends can be taken.
  explicit SocketStream(UniqueFd socket, bool takes_descriptors = false);

  absl::StatusOr<std::size_t> Read(absl::Span<std::byte> target) override;
  absl::StatusOr<std::size_t> Write(absl::Span<const std::byte> source) override;
  int fd() const override { return socket_.get(); }
  bool CheapToPoll() const override { return false; }
  bool Readable() const override { return true; }
  bool Writable() const override { return true; }
  bool PrepareToWaitForBytes() override { return true; }
  bool PrepareToWaitForRoom() override { return true; }
  absl::Status WakeUp() override { return absl::OkStatus(); }
  absl::StatusOr<std::size_t> WriteWithDescriptor(absl::Span<const std::byte> source,
                                                  int descriptor) override;
  bool BringsDescriptors() const override { return takes_descriptors_; }
  UniqueFd NextDescriptor() override;

  // Gives the socket up.
  UniqueFd Release() { return std::move(socket_); }

 private:
  UniqueFd socket_;
  const bool takes_descriptors_;
  // Received, and not yet asked for.
  std::deque<UniqueFd> descriptors_;
};

// Receives what is there from a socket, without descriptors: those that come along are closed.
absl::StatusOr<std::size_t> ReceiveBytes(int socket, absl::Span<std::byte> target);

// What calls return once the peer has closed.
absl::Status StreamClosed();

}  // namespace acceld
