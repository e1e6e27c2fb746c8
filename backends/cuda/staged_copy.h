// A copy between the card and host memory that is not pinned: in pieces, through pinned blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "backends/cuda/driver.h"
#include "backends/cuda/event_pool.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/device.h"

namespace acceld::cuda {

// Used by one thread at a time.
class StagedCopy {
 public:
  // A piece is copied on the host while others wait for it, so it is no larger than needed for
  // the bus to run at full speed.
  static constexpr std::uint64_t kPieceBytes = 512 * 1024;
  // So many pieces are under way: the host copies one while the card copies another.
  static constexpr std::size_t kMaxPieces = 4;

  // `driver`, `pinned` and `events` outlive the copy; so does the host memory it names.
  StagedCopy(Driver& driver, PinnedPool& pinned, EventPool& events, const HostToDevice& copy)
      : StagedCopy(driver, pinned, events, copy.target, copy.source, copy.bytes, true) {}
  StagedCopy(Driver& driver, PinnedPool& pinned, EventPool& events, const DeviceToHost& copy)
      : StagedCopy(driver, pinned, events, copy.target, copy.source, copy.bytes, false) {}
  // The card uses its blocks no more: its stream is done or the card is lost.
  ~StagedCopy();
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;

  // Takes one piece back if it is done, and submits another to `stream` if it may; copies at most
  // one piece on the host. False where it has to wait. What fails ends the copy.
  DriverResult<bool> Step(StreamHandle stream);

  // Whether the stream has all of it, so that later work may follow.
  bool all_submitted() const { return submitted_bytes_ == bytes_; }
  // Whether nothing is left to do for the host.
  bool finished() const { return all_submitted() && (to_device_ || pieces_.empty()); }

 private:
  struct Piece {
    std::byte* block;
    EventPool::Event done;
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  StagedCopy(Driver& driver, PinnedPool& pinned, EventPool& events, std::byte* target,
             const std::byte* source, std::uint64_t bytes, bool to_device)
      : driver_(driver),
        pinned_(pinned),
        events_(events),
        target_(target),
        source_(source),
        bytes_(bytes),
        to_device_(to_device) {}

  // Takes the first piece back if it is done; kNotReady if not.
  DriverStatus TakeBack();
  DriverStatus SubmitPiece(StreamHandle stream);

  Driver& driver_;
  PinnedPool& pinned_;
  EventPool& events_;
  std::byte* const target_;
  const std::byte* const source_;
  const std::uint64_t bytes_;
  const bool to_device_;
  std::uint64_t submitted_bytes_ = 0;
  std::deque<Piece> pieces_;
};

}  // namespace acceld::cuda
