// What a daemon has sent, cut into frames.
#pragma once

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "proto/frames/command_frame.h"

namespace acceld {

struct ReceivedFrame {
  frames::Header header;
  std::vector<std::byte> payload;

  frames::Kind kind() const { return static_cast<frames::Kind>(header.kind); }
  // Of a result, or of the end.
  CommandResult result() const {
    absl::StatusOr<CommandResult> result = frames::ToResult(header, payload);
    return result.ok() ? *std::move(result) : CommandResult{.status = result.status(), .value = {}};
  }
  // "finished 3", "result 4", "data 5: bytes" or "end".
  std::string Words() const {
    switch (kind()) {
      case frames::Kind::kFinished:
        return fmt::format("finished {}", header.number);
      case frames::Kind::kResult:
        return fmt::format("result {}", header.number);
      case frames::Kind::kData:
        return fmt::format(
            "data {}: {}", header.number,
            std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
      case frames::Kind::kEnd:
        return "end";
      default:
        return fmt::format("kind {}", header.kind);
    }
  }
};

// Takes the complete frames at the start of `bytes` out of it.
inline std::vector<ReceivedFrame> TakeFrames(std::vector<std::byte>& bytes) {
  std::vector<ReceivedFrame> frames;
  std::size_t begin = 0;
  while (bytes.size() - begin >= sizeof(frames::Header)) {
    frames::Header header;
    std::memcpy(&header, bytes.data() + begin, sizeof header);
    if (bytes.size() - begin - sizeof header < header.payload_bytes) break;
    const auto payload = bytes.begin() + static_cast<std::ptrdiff_t>(begin + sizeof header);
    frames.push_back({.header = header, .payload = {payload, payload + header.payload_bytes}});
    begin += sizeof header + header.payload_bytes;
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(begin));
  return frames;
}

inline std::vector<std::string> WordsOf(const std::vector<ReceivedFrame>& frames) {
  std::vector<std::string> words;
  for (const ReceivedFrame& frame : frames) words.push_back(frame.Words());
  return words;
}

}  // namespace acceld
