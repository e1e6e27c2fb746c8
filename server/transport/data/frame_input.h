// Cuts what a client sends into frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "channel/byte_stream.h"
#include "proto/frames/frame.h"

namespace acceld {

// Used by one thread at a time.
class FrameInput {
 public:
  struct Frame {
    frames::Header header;
    // All of the payload but the bytes of a write. Valid until the next call.
    absl::Span<const std::byte> fields;
    // The bytes of a write.
    std::unique_ptr<std::byte[]> data;
    std::size_t data_bytes = 0;
  };

  // Frames whose fields take more than `max_field_bytes` are refused.
  explicit FrameInput(std::uint64_t max_field_bytes);

  // Takes in what has arrived, some of it; returns how much. Errors are the stream's.
  absl::StatusOr<std::size_t> Fill(ByteStream& stream);

  // The next frame, once it is complete. Invalid argument where it is none that may come.
  absl::StatusOr<std::optional<Frame>> Next();

  // Whether a frame has begun to arrive, and its rest is due.
  bool Partial() const { return large_.has_value() || begin_ != end_; }

 private:
  // A frame that goes around the buffer: a write, or one that is larger than the buffer.
  struct Large {
    frames::Header header;
    std::vector<std::byte> fields;
    std::size_t fields_received = 0;
    std::unique_ptr<std::byte[]> data;
    std::size_t data_bytes = 0;
    std::size_t data_received = 0;

    // Where the next bytes go; empty once all are there.
    absl::Span<std::byte> Missing();
    void Received(std::size_t bytes);
  };

  absl::Span<std::byte> Buffered() {
    return absl::MakeSpan(buffer_).subspan(begin_, end_ - begin_);
  }

  const std::uint64_t max_field_bytes_;
  std::vector<std::byte> buffer_;
  // What has arrived and was not handed out.
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::optional<Large> large_;
  // What the last frame handed out refers to.
  std::vector<std::byte> fields_;
};

}  // namespace acceld
