// Messages that are little but one long run of bytes, found and made without copying the bytes.
//
// The Find functions know the plain encoding: each field once, in ascending order, the bytes last,
// as every generated encoder writes it. They look at encoded bytes of any origin. Where a message
// is encoded in another way, or is something else, they return nothing, and protobuf decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "acceld/v1/command.pb.h"
#include "backends/core/handles.h"

namespace acceld {

// A run of bytes in pieces, as it lies in a transport's buffers.
using Pieces = std::vector<absl::Span<const std::byte>>;

std::uint64_t TotalBytes(const Pieces& pieces);

// The bytes of a WriteRequest that is a `data`; they lie in `message`.
std::optional<Pieces> FindWriteData(const Pieces& message);

// Adds `command`, whose size is cached, to the encoding of a SubmitRequest.
void AppendCommand(const v1::Command& command, std::string& request);

// What a SubmitRequest starts with that is one write of `bytes` bytes and nothing else: they
// follow.
std::string BulkWritePrefix(Stream stream, Address target, std::uint64_t bytes);

struct BulkWrite {
  Stream stream = kDefaultStream;
  Address target = 0;
  // In the message that it was found in.
  Pieces data = {};
};
std::optional<BulkWrite> FindBulkWrite(const Pieces& message);

// What a ReadResponse of `bytes` bytes starts with: they follow.
std::string ReadResponsePrefix(std::uint64_t bytes);

// What a SubmitResponse starts with that is `finished_sequence` and the `bytes` bytes that command
// `sequence` has read, and nothing else: they follow.
std::string BulkResultPrefix(std::uint64_t finished_sequence, std::uint64_t sequence,
                             std::uint64_t bytes);

struct BulkResult {
  std::uint64_t finished_sequence = 0;
  std::uint64_t sequence = 0;
  // In the message that it was found in.
  Pieces data = {};
};
std::optional<BulkResult> FindBulkResult(const Pieces& message);

}  // namespace acceld
