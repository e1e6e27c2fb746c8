// Commands and their results between structs and frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/command/command.h"
#include "proto/frames/frame.h"

namespace acceld::frames {

// Appends the frame of `command` to `buffer`. The bytes of a write do not follow, but count in the
// header: whoever calls sends them next.
void Append(const Command& command, std::vector<std::byte>& buffer);

// Appends the frame of a command of the data channel's own, with one number or a SharedCopy.
void Append(Kind kind, std::uint64_t number, std::vector<std::byte>& buffer);
void Append(Kind kind, Stream stream, const SharedCopy& copy, std::vector<std::byte>& buffer);

// How many bytes of a client's frame come before those of a write: all of `payload_bytes`, but for
// a write.
std::size_t FieldBytes(const Header& header);

// The command of a frame whose kind is at most kCommandKinds. `fields` are its first FieldBytes. An
// invalid argument where they are not exactly what such a frame has. The data of a write is not
// set.
absl::StatusOr<Command> ToCommand(const Header& header, absl::Span<const std::byte> fields);

absl::StatusOr<SharedCopy> ToSharedCopy(absl::Span<const std::byte> payload);
absl::StatusOr<std::uint64_t> ToNumber(absl::Span<const std::byte> payload);

// Appends the frame kResult of command `number`. Its value is not bytes, which kData brings.
void Append(std::uint64_t number, const CommandResult& result, std::vector<std::byte>& buffer);

// The result in a frame kResult. Invalid argument where it is malformed.
absl::StatusOr<CommandResult> ToResult(const Header& header, absl::Span<const std::byte> payload);

// Appends the frame kWelcome: what the transport is called, and why it is not a better one, for
// people.
void Append(const Welcome& welcome, std::string_view transport, std::string_view note,
            std::vector<std::byte>& buffer);

// Appends a frame without payload, or with a status.
void Append(Kind kind, std::uint64_t number, const absl::Status& status,
            std::vector<std::byte>& buffer);
void AppendFinished(std::uint64_t number, std::vector<std::byte>& buffer);

}  // namespace acceld::frames
