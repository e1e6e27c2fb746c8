#include "server/transport/data/frame_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/frames/command_frame.h"

namespace acceld {
namespace {

constexpr std::size_t kBufferBytes = 32 * 1024;

}  // namespace

FrameInput::FrameInput(std::uint64_t max_field_bytes)
    : max_field_bytes_(max_field_bytes), buffer_(kBufferBytes) {}

absl::Span<std::byte> FrameInput::Large::Missing() {
  if (fields_received < fields.size()) return absl::MakeSpan(fields).subspan(fields_received);
  return absl::MakeSpan(data.get() + data_received, data_bytes - data_received);
}

void FrameInput::Large::Received(std::size_t bytes) {
  (fields_received < fields.size() ? fields_received : data_received) += bytes;
}

absl::StatusOr<std::size_t> FrameInput::Fill(ByteStream& stream) {
  if (large_.has_value()) {
    const absl::Span<std::byte> missing = large_->Missing();
    if (missing.empty()) return 0;
    absl::StatusOr<std::size_t> bytes = stream.Read(missing);
    if (bytes.ok()) large_->Received(*bytes);
    return bytes;
  }
  // Room at the end, so that a frame lies in one piece.
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) return 0;
  absl::StatusOr<std::size_t> bytes = stream.Read(absl::MakeSpan(buffer_).subspan(end_));
  if (bytes.ok()) end_ += *bytes;
  return bytes;
}

absl::StatusOr<std::optional<FrameInput::Frame>> FrameInput::Next() {
  if (!large_.has_value()) {
    const absl::Span<const std::byte> buffered = Buffered();
    frames::Header header;
    if (buffered.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, buffered.data(), sizeof header);
    const std::size_t field_bytes = frames::FieldBytes(header);
    const std::size_t data_bytes = header.payload_bytes - field_bytes;
    if (field_bytes > max_field_bytes_ || data_bytes > frames::kMaxWriteBytes) {
      return InvalidArgument(
          fmt::format("A frame of kind {} has {} bytes; its fields may have {} and its data {}.",
                      header.kind, header.payload_bytes, max_field_bytes_, frames::kMaxWriteBytes),
          reason::kLimitExceeded);
    }
    const std::size_t bytes = sizeof header + header.payload_bytes;
    if (data_bytes == 0 && bytes <= buffer_.size()) {
      if (buffered.size() < bytes) return std::nullopt;
      begin_ += bytes;
      return Frame{.header = header,
                   .fields = buffered.subspan(sizeof header, field_bytes),
                   .data = nullptr};
    }
    begin_ += sizeof header;
    Large& large = large_.emplace();
    large.header = header;
    large.fields.resize(field_bytes);
    large.data.reset(new std::byte[data_bytes]);
    large.data_bytes = data_bytes;
  }
  // What is in the buffer comes first; Fill then reads around it.
  while (begin_ != end_ && !large_->Missing().empty()) {
    const absl::Span<std::byte> missing = large_->Missing();
    const std::size_t bytes = std::min(missing.size(), end_ - begin_);
    std::memcpy(missing.data(), buffer_.data() + begin_, bytes);
    begin_ += bytes;
    large_->Received(bytes);
  }
  if (!large_->Missing().empty()) return std::nullopt;
  Frame frame{.header = large_->header,
              .fields = {},
              .data = std::move(large_->data),
              .data_bytes = large_->data_bytes};
  fields_ = std::move(large_->fields);
  large_.reset();
  frame.fields = fields_;
  return frame;
}

}  // namespace acceld
