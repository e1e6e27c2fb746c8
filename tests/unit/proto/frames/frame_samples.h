// Every frame once, with no field at its default.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/command/command.h"
#include "proto/frames/frame.h"

namespace acceld::frames {

// Every op, then every other command, in the order of Op and Command::action. The data of the write
// is kWritten.
std::vector<Command> SampleCommands();
inline constexpr char kWritten[] = "bytes";

// One result of each alternative of CommandValue, in its order, but for bytes, then an error.
std::vector<CommandResult> SampleResults();

SharedCopy SampleCopy();

// The header at the start of `frame`, and what is behind it.
Header HeaderOf(absl::Span<const std::byte> frame);
absl::Span<const std::byte> PayloadOf(absl::Span<const std::byte> frame);

}  // namespace acceld::frames
