// What a command holds in the daemon's memory until it is answered.
#pragma once

#include <cstdint>

#include "acceld/v1/command.pb.h"
#include "backends/context/program_item.h"

namespace acceld {

// An element of a list takes as little as one byte on the wire, and eight once it is decoded.
inline constexpr std::uint64_t kDecodedBytesPerByte = 8;

// Besides what every command takes. A size that a read claims counts as it is, also a wrong one.
inline std::uint64_t BytesOf(const v1::Command& command) {
  if (command.has_run()) return kDecodedBytesPerByte * command.run().ByteSizeLong();
  if (command.has_write()) return command.write().data().size();
  if (command.has_read()) return command.read().size_bytes();
  if (command.has_define_program()) {
    const v1::DefineProgram& define = command.define_program();
    return kDecodedBytesPerByte * define.ByteSizeLong() + define.items_size() * sizeof(ProgramItem);
  }
  if (command.has_replay_program()) {
    return kDecodedBytesPerByte * command.replay_program().ByteSizeLong();
  }
  return 0;
}

}  // namespace acceld
