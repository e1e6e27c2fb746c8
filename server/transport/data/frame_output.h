// Answers a client: keeps count of the commands that have finished, and sends what there is to say
// about them as the stream takes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/core/mutex.h"
#include "backends/core/unique_fd.h"
#include "channel/byte_stream.h"
#include "proto/command/command.h"

namespace acceld {

// The bytes of a read, behind their frame's header.
class DataFrame {
 public:
  // Memory for `size_bytes` bytes, at most kMaxWriteBytes, which count in `held_bytes` while it is
  // there.
  DataFrame(std::uint64_t number, std::size_t size_bytes, std::atomic<std::uint64_t>& held_bytes);
  ~DataFrame() { held_bytes_ -= size_bytes_; }
  DataFrame(const DataFrame&) = delete;
  DataFrame& operator=(const DataFrame&) = delete;

  std::uint64_t number() const { return number_; }
  absl::Span<std::byte> data() const;
  // Header and data.
  absl::Span<const std::byte> frame() const { return {bytes_.get(), size_bytes_}; }

 private:
  const std::uint64_t number_;
  // Header and data.
  const std::size_t size_bytes_;
  const std::unique_ptr<std::byte[]> bytes_;
  std::atomic<std::uint64_t>& held_bytes_;
};

// Thread-safe.
class FrameOutput {
 public:
  // `stream` outlives the output; only this writes to it.
  explicit FrameOutput(ByteStream& stream) : stream_(stream) {}

  // Takes a command; returns its number, of which the first is 1.
  std::uint64_t Accept() { return accepted_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint64_t accepted() const { return accepted_.load(std::memory_order_relaxed); }

  // Whether each command that has finished is told of at once: where the client may wait for just
  // that. What is sent also shows whether a client whose bytes are not read is still there.
  void TellAtOnce(bool on) { tells_at_once_.store(on, std::memory_order_relaxed); }

  // Command `number` has finished. Its result is sent where `answer` says so, or it is worth it.
  void Finish(std::uint64_t number, const CommandResult& result, bool answer);
  // ... and its result, which is OK, brings a descriptor. Where that cannot be sent, the result is
  // out of memory.
  void Finish(std::uint64_t number, const CommandResult& result, UniqueFd descriptor);
  // ... and its bytes are to be sent; it counts as finished when they are.
  void Finish(std::shared_ptr<const DataFrame> data);
  // Tells why the session is over; nothing comes after it.
  void End(const absl::Status& why);

  // Sends what there is, if the stream takes it. Returns whether waits_for_room() changed by it.
  // Errors are the stream's.
  absl::StatusOr<bool> Flush();

  // Whether the stream takes no more of what there is to send.
  bool waits_for_room() const { return waits_for_room_; }

  // Whether the stream has much room. Only where that is cheap to tell.
  bool HasRoom();
  // Comes before one waits for the stream to have room. False where it has some already.
  bool PrepareToWaitForRoom();

  // How many commands have finished, and their bytes have been sent.
  std::uint64_t finished_count() const { return finished_count_.load(std::memory_order_acquire); }
  // All commands up to this have finished.
  std::uint64_t finished_in_order() const { return finished_.load(std::memory_order_relaxed); }
  // What waits to be sent, of which a client that does not read makes more and more.
  std::size_t waiting_bytes() const { return waiting_bytes_.load(std::memory_order_relaxed); }
  // Whether a descriptor does.
  bool descriptor_waits() const { return descriptor_waits_.load(std::memory_order_relaxed); }

 private:
  void MarkFinished(std::uint64_t number) ACCELD_REQUIRES(mutex_);
  // Whether to tell now that commands have finished which had nothing else to tell.
  bool ProgressIsDue() const ACCELD_REQUIRES(mutex_);
  // Frames, and the bytes of a read behind them, if there are any; or one result with a descriptor.
  struct Piece {
    std::vector<std::byte> frames{};
    std::shared_ptr<const DataFrame> data = nullptr;
    std::size_t sent = 0;
    UniqueFd descriptor{};
    // The command's, where there is a descriptor.
    std::uint64_t number = 0;
  };
  // Sends the rest of `piece`. True when all is sent.
  absl::StatusOr<bool> Send(Piece& piece) ACCELD_REQUIRES(mutex_);
  // Sends the start of `piece`, and its descriptor. False where the stream takes nothing.
  bool SendDescriptor(Piece& piece) ACCELD_REQUIRES(mutex_);

  ByteStream& stream_;
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<bool> tells_at_once_{false};
  std::atomic<std::uint64_t> finished_count_{0};
  std::atomic<std::size_t> waiting_bytes_{0};
  std::atomic<bool> descriptor_waits_{false};
  // Changes under the lock.
  std::atomic<bool> waits_for_room_{false};

  Mutex mutex_;
  // All commands up to this have finished, which changes under the lock; `beyond_` says which of
  // those after it have.
  std::atomic<std::uint64_t> finished_{0};
  std::deque<bool> beyond_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t reported_ ACCELD_GUARDED_BY(mutex_) = 0;
  // What is to be sent, in order: an answer never overtakes the bytes of an earlier read. The last
  // piece, which there always is, has no data and no descriptor.
  std::deque<Piece> pieces_ ACCELD_GUARDED_BY(mutex_) = std::deque<Piece>(1);
  // Whether a frame kFinished is in the last piece.
  bool progress_waits_ ACCELD_GUARDED_BY(mutex_) = false;
  bool ended_ ACCELD_GUARDED_BY(mutex_) = false;
};

}  // namespace acceld
