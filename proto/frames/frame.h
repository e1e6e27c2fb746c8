// The data channel's wire: what a client library and the daemon say on a stream of bytes, a socket
// or a ring in shared memory, once a session is open. It carries the commands of acceld.v1 in a
// shorter encoding. All numbers are little-endian.
//
//  1. The client connects to the daemon's socket and sends a Hello with the session's secret.
//  2. The daemon answers with a frame kWelcome, whose payload is a Welcome, the transport's name,
//     and why memory is not shared where that was asked for; or with kEnd and closes.
//     Where shared memory was asked for and granted, the message brings the rings' descriptor, and
//     from then on frames travel in the rings. The socket wakes the other side, one byte at a time,
//     brings descriptors, and by its end tells that a side is gone. No client sends a descriptor.
//  3. The client sends frames, one a command. Their numbers are implied: the first is 1.
//  4. The daemon answers with kFinished, kResult and kData.
//  5. Either side closes the socket; the daemon says why before, with kEnd.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "proto/command/command.h"

namespace acceld::frames {

// What the first bytes of a data channel are.
inline constexpr char kMagic[] = "ACCELDDC";

// Raised when anything here, or the fields of a command or op, changes. A daemon speaks just one;
// a client of another version is refused with VERSION_UNSUPPORTED and uses gRPC.
inline constexpr std::uint32_t kVersion = 2;

struct Hello {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  // 1 where the client wants shared memory, else 0.
  std::uint32_t shared_memory = 0;
  // Session.secret.
  std::array<char, 16> secret{};
};
static_assert(sizeof(Hello) == 32);

struct Welcome {
  // Bytes of each of the two rings; 0 where frames stay on the socket.
  std::uint64_t ring_bytes = 0;
  // What a client should stage large copies in, with kAllocHost, at most; 0 likewise.
  std::uint64_t staging_bytes = 0;
};
static_assert(sizeof(Welcome) == 16);

// Before each frame's payload.
struct Header {
  std::uint32_t payload_bytes = 0;
  // A Kind; or in a frame of the client's, as long as it is at most kCommandKinds, the place of the
  // command in Command::action, counted from 1.
  std::uint16_t kind = 0;
  // Of a command that runs an op, its place in Op, counted from 1. Of kResult, the place of the
  // value in CommandValue, counted from 0. Else 0.
  std::uint16_t detail = 0;
  // In a frame of the client's the stream. In one of the daemon's the command's number.
  std::uint64_t number = 0;
};
static_assert(sizeof(Header) == 16);

inline constexpr std::size_t kCommandKinds = std::variant_size_v<decltype(Command::action)>;

enum class Kind : std::uint16_t {
  // ---- From the client, where there is shared memory; each is a command with a number ----

  // As write and read, but the bytes lie in host memory of kAllocHost: SharedCopy.
  kWriteShared = 64,
  kReadShared = 65,
  // Makes host memory that both sides map: u64 bytes. The result is its number, an Address; its
  // descriptor comes over the socket before. A session has at most 256 at a time.
  kAllocHost = 66,
  // Ends it once the commands before are done with it: u64 number.
  kFreeHost = 67,
  // Shows mappable device memory to the client: u64 address. The result is its size in bytes, an
  // Address; its descriptor comes over the socket before.
  kMap = 68,

  // ---- ... or a Unix socket ----

  // Exports openable device memory: u64 address. The result is its size in bytes, an Address; its
  // descriptor comes over the socket before, and where there are no rings with the result's first
  // byte.
  kExportHandle = 69,

  // ---- From the daemon ----

  // All commands up to `number` have finished; those of them that failed or return something have
  // been told of before. No payload.
  kFinished = 128,
  // Command `number` has finished: a status (see pack.h), then, where that is OK, its value. Sent
  // where there is an error or a value, and for each synchronization.
  kResult = 129,
  // The bytes that read command `number` has read.
  kData = 130,
  kWelcome = 131,
  // The session is over for the client: a status.
  kEnd = 132,
};

struct SharedCopy {
  // In device memory.
  Address address = 0;
  std::uint64_t size_bytes = 0;
  // The host memory's number, and where the bytes lie in it.
  std::uint64_t host = 0;
  std::uint64_t host_offset = 0;
  // Of reads, as command::Read's.
  bool keep_error = false;
};

// What a client's frame may carry besides the bytes of a write, whatever the daemon's limits are.
inline constexpr std::size_t kMaxWriteBytes = std::size_t{1} << 20;

}  // namespace acceld::frames
