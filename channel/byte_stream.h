// A two-way stream of bytes to a peer, such as a socket: what the data channel's frames travel in.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/core/unique_fd.h"

namespace acceld {

// One thread reads and one writes at a time. Nothing here blocks.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Moves the bytes that are there, at most `target.size()`, and returns how many; 0 where there
  // are none yet. kUnavailable once the peer has closed the stream or is gone; invalid argument
  // where it breaks the stream's rules.
  virtual absl::StatusOr<std::size_t> Read(absl::Span<std::byte> target) = 0;

  // Moves as many bytes as there is room for, and returns how many. Errors as Read's.
  virtual absl::StatusOr<std::size_t> Write(absl::Span<const std::byte> source) = 0;

  // As Write, with a descriptor of a file, which stays the caller's and arrives with the first
  // byte, if any moved. An error also where just the descriptor cannot be sent. Only to a peer on
  // the same host, over a socket.
  virtual absl::StatusOr<std::size_t> WriteWithDescriptor(absl::Span<const std::byte> /*source*/,
                                                          int /*descriptor*/) {
    return absl::UnimplementedError("The stream passes no descriptors.");
  }

  // The descriptor that becomes readable when there is something to read, or was since Sleep.
  virtual int fd() const = 0;

  // Whether a look costs next to nothing, so that it pays to look for a while before sleeping.
  virtual bool CheapToPoll() const = 0;
  // Whether Read would find something, and Write much room. Only where it is cheap.
  virtual bool Readable() const = 0;
  virtual bool Writable() const = 0;

  // Comes before the reader waits for the descriptor. False where there is something to read
  // already.
  virtual bool PrepareToWaitForBytes() = 0;
  // Comes before the writer does. False where there is much room already. A socket has to be
  // watched for room; other streams make the descriptor readable.
  virtual bool PrepareToWaitForRoom() = 0;
  // Comes after: takes away what made the descriptor readable, if that is not what Read gives.
  // Errors as Read's.
  virtual absl::Status WakeUp() = 0;

  // Whether the peer can send descriptors of files along.
  virtual bool BringsDescriptors() const { return false; }
  // The next that it has sent; not valid where there is none, or this process had no room for it.
  // For the thread that reads.
  virtual UniqueFd NextDescriptor() { return UniqueFd(); }
};

}  // namespace acceld
