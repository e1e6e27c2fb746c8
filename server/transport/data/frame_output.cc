#include "server/transport/data/frame_output.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/frames/command_frame.h"

namespace acceld {
namespace {

// So many commands that have nothing else to tell are told of together.
constexpr std::uint64_t kProgressStep = 256;

}  // namespace

DataFrame::DataFrame(std::uint64_t number, std::size_t size_bytes,
                     std::atomic<std::uint64_t>& held_bytes)
    : number_(number),
      size_bytes_(sizeof(frames::Header) + size_bytes),
      bytes_(new std::byte[size_bytes_]),
      held_bytes_(held_bytes) {
  held_bytes_ += size_bytes_;
  const frames::Header header{.payload_bytes = static_cast<std::uint32_t>(size_bytes),
                              .kind = static_cast<std::uint16_t>(frames::Kind::kData),
                              .detail = 0,
                              .number = number};
  std::memcpy(bytes_.get(), &header, sizeof header);
}

absl::Span<std::byte> DataFrame::data() const {
  return absl::MakeSpan(bytes_.get(), size_bytes_).subspan(sizeof(frames::Header));
}

void FrameOutput::MarkFinished(std::uint64_t number) {
  finished_count_.fetch_add(1, std::memory_order_release);
  if (number != finished_ + 1) {
    const std::size_t place = number - finished_ - 1;
    if (beyond_.size() <= place) beyond_.resize(place + 1);
    beyond_[place] = true;
    return;
  }
  ++finished_;
  if (beyond_.empty()) return;
  // The first place was this one's.
  do {
    beyond_.pop_front();
    if (beyond_.empty() || !beyond_.front()) break;
    ++finished_;
  } while (true);
}

void FrameOutput::Finish(std::uint64_t number, const CommandResult& result, bool answer) {
  MutexLock lock(mutex_);
  if (!ended_ && (answer || WorthSending(result))) {
    std::vector<std::byte>& frames = pieces_.back().frames;
    const std::size_t before = frames.size();
    frames::Append(number, result, frames);
    waiting_bytes_ += frames.size() - before;
  }
  MarkFinished(number);
}

void FrameOutput::Finish(std::uint64_t number, const CommandResult& result, UniqueFd descriptor) {
  MutexLock lock(mutex_);
  if (!ended_) {
    // By itself, since the descriptor arrives with the piece's first byte.
    if (!pieces_.back().frames.empty()) pieces_.emplace_back();
    Piece& piece = pieces_.back();
    frames::Append(number, result, piece.frames);
    waiting_bytes_ += piece.frames.size();
    piece.descriptor = std::move(descriptor);
    piece.number = number;
    descriptor_waits_ = true;
    pieces_.emplace_back();
    progress_waits_ = false;
  }
  MarkFinished(number);
}

void FrameOutput::Finish(std::shared_ptr<const DataFrame> data) {
  MutexLock lock(mutex_);
  if (ended_) return MarkFinished(data->number());
  pieces_.back().data = std::move(data);
  pieces_.emplace_back();
  progress_waits_ = false;
}

void FrameOutput::End(const absl::Status& why) {
  MutexLock lock(mutex_);
  if (std::exchange(ended_, true)) return;
  // Only the piece that has begun is finished, or the client would take the end for its bytes.
  while (pieces_.size() > (pieces_.front().sent > 0 ? 2u : 1u)) {
    auto last = std::prev(pieces_.end(), 2);
    if (last->data != nullptr) MarkFinished(last->data->number());
    pieces_.erase(last);
  }
  frames::Append(frames::Kind::kEnd, 0, why, pieces_.back().frames);
}

bool FrameOutput::HasRoom() {
  MutexLock lock(mutex_);
  return stream_.Writable();
}

bool FrameOutput::PrepareToWaitForRoom() {
  MutexLock lock(mutex_);
  return stream_.PrepareToWaitForRoom();
}

bool FrameOutput::SendDescriptor(Piece& piece) {
  const absl::StatusOr<std::size_t> written =
      stream_.WriteWithDescriptor(piece.frames, piece.descriptor.get());
  if (written.ok() && *written == 0) return false;
  if (written.ok()) {
    piece.sent = *written;
  } else {
    // Where it is the connection, the next write says so.
    const absl::string_view why = written.status().message();
    const absl::Status failure = OutOfMemory(fmt::format(
        "The daemon cannot send the descriptor: {}", std::string_view(why.data(), why.size())));
    piece.frames.clear();
    frames::Append(piece.number, {.status = failure, .value = {}}, piece.frames);
  }
  piece.descriptor.Reset();
  descriptor_waits_ = false;
  return true;
}

absl::StatusOr<bool> FrameOutput::Send(Piece& piece) {
  if (piece.descriptor.valid() && !SendDescriptor(piece)) return false;
  const std::size_t frame_bytes = piece.frames.size();
  const absl::Span<const std::byte> data =
      piece.data != nullptr ? piece.data->frame() : absl::Span<const std::byte>();
  while (piece.sent < frame_bytes + data.size()) {
    const absl::Span<const std::byte> rest =
        piece.sent < frame_bytes ? absl::MakeConstSpan(piece.frames).subspan(piece.sent)
                                 : data.subspan(piece.sent - frame_bytes);
    absl::StatusOr<std::size_t> written = stream_.Write(rest);
    if (!written.ok()) return written.status();
    if (*written == 0) return false;
    piece.sent += *written;
  }
  return true;
}

bool FrameOutput::ProgressIsDue() const {
  if (reported_ == finished_ || progress_waits_ || ended_) return false;
  // Else nobody waits for these alone, and a client that sleeps would be woken for each.
  return tells_at_once_ || !pieces_.back().frames.empty() || finished_ >= accepted_ ||
         finished_ - reported_ >= kProgressStep;
}

absl::StatusOr<bool> FrameOutput::Flush() {
  MutexLock lock(mutex_);
  while (true) {
    // Behind the results of these commands, and one at a time, so that a client that does not read
    // heaps none up.
    if (ProgressIsDue()) {
      reported_ = finished_;
      progress_waits_ = true;
      frames::AppendFinished(reported_, pieces_.back().frames);
    }
    Piece& piece = pieces_.front();
    absl::StatusOr<bool> all = Send(piece);
    if (!all.ok()) {
      waits_for_room_ = false;
      return all.status();
    }
    if (!*all) return !waits_for_room_.exchange(true);
    if (pieces_.size() > 1) {
      if (piece.data != nullptr) MarkFinished(piece.data->number());
      waiting_bytes_ -= std::min<std::size_t>(waiting_bytes_, piece.frames.size());
      pieces_.pop_front();
      continue;
    }
    piece.frames.clear();
    piece.sent = 0;
    progress_waits_ = false;
    waiting_bytes_ = 0;
    if (!ProgressIsDue()) return waits_for_room_.exchange(false);
  }
}

}  // namespace acceld
