// A stream over two rings in memory that both sides map, with a Unix socket that wakes the other
// side, a byte at a time, and by its end tells that a side is gone.
#pragma once

#include <cstdint>
#include <deque>

#include "backends/core/unique_fd.h"
#include "backends/memory/sealed_memory.h"
#include "channel/byte_stream.h"
#include "channel/ring.h"

namespace acceld {

class RingStream final : public ByteStream {
 public:
  enum class Side : std::uint8_t { kClient, kServer };

  // The bytes that rings of `ring_bytes` bytes each take.
  static constexpr std::uint64_t MemoryBytes(std::uint64_t ring_bytes) {
    return 2 * RingMemoryBytes(ring_bytes);
  }

  // `memory` has MemoryBytes(ring_bytes) bytes; `ring_bytes` is a power of two, at least 64. The
  // socket becomes non-blocking.
  RingStream(Side side, UniqueFd socket, SealedMemory memory, std::uint64_t ring_bytes);

  absl::StatusOr<std::size_t> Read(absl::Span<std::byte> target) override;
  absl::StatusOr<std::size_t> Write(absl::Span<const std::byte> source) override;
  int fd() const override { return socket_.get(); }
  bool CheapToPoll() const override { return true; }
  bool Readable() const override { return reader_.Readable(); }
  bool Writable() const override { return writer_.HalfFree(); }
  bool PrepareToWaitForBytes() override { return reader_.PrepareToSleep(); }
  bool PrepareToWaitForRoom() override { return writer_.PrepareToSleep(); }
  absl::Status WakeUp() override;

  // Wakes the other side, if it sleeps, ahead of what is about to be written: that takes it longer
  // than to write.
  void Nudge();

  // Sends a descriptor of a file, which stays the caller's, ahead of what is written next. Any
  // thread may. kUnavailable where the peer does not take what is sent.
  absl::Status SendDescriptor(int descriptor);
  // A server takes none from its clients.
  bool BringsDescriptors() const override { return side_ == Side::kClient; }
  UniqueFd NextDescriptor() override;

 private:
  void Kick();
  // Takes what the socket has brought, some of it; returns how many bytes. Errors as Read's.
  absl::StatusOr<std::size_t> TakeKicks();

  const Side side_;
  const UniqueFd socket_;
  const SealedMemory memory_;
  RingReader reader_;
  RingWriter writer_;
  // Received, and not yet asked for.
  std::deque<UniqueFd> descriptors_;
};

}  // namespace acceld
