// Both ends of a connection, in one process, for tests.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>

#include "backends/memory/sealed_memory.h"
#include "channel/ring_stream.h"

namespace acceld {

struct SocketPair {
  SocketPair() {
    int ends[2] = {-1, -1};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    first.Reset(ends[0]);
    second.Reset(ends[1]);
  }

  UniqueFd first;
  UniqueFd second;
};

// Rings of `ring_bytes` bytes, and their two ends.
struct RingPair {
  explicit RingPair(std::uint64_t ring_bytes) {
    SocketPair sockets;
    const std::uint64_t bytes = RingStream::MemoryBytes(ring_bytes);
    SealedMemory rings = *SealedMemory::Create("test-rings", bytes);
    SealedMemory mapped = *SealedMemory::Open(dup(rings.fd()), bytes);
    server = std::make_unique<RingStream>(RingStream::Side::kServer, std::move(sockets.second),
                                          std::move(rings), ring_bytes);
    client = std::make_unique<RingStream>(RingStream::Side::kClient, std::move(sockets.first),
                                          std::move(mapped), ring_bytes);
  }

  std::unique_ptr<RingStream> client;
  std::unique_ptr<RingStream> server;
};

inline absl::Span<const std::byte> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Whether `fd` becomes readable, or its other side is gone, within `timeout_ms`.
inline bool BecomesReadable(int fd, int timeout_ms = 60'000) {
  pollfd polled{fd, POLLIN, 0};
  return poll(&polled, 1, timeout_ms) == 1;
}

// What one Read of at most `bytes` gives.
inline std::string ReadOnce(ByteStream& stream, std::size_t bytes) {
  std::string text(bytes, '\0');
  const absl::StatusOr<std::size_t> read =
      stream.Read(absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), bytes));
  text.resize(read.ok() ? *read : 0);
  return read.ok() ? text : read.status().ToString();
}

}  // namespace acceld
