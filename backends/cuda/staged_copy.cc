#include "backends/cuda/staged_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cuda/driver_status.h"

namespace acceld::cuda {

StagedCopy::~StagedCopy() {
  for (const Piece& piece : pieces_) pinned_.GiveBack(piece.block);
}

DriverStatus StagedCopy::TakeBack() {
  const Piece& piece = pieces_.front();
  if (DriverStatus done = LossUnlessOk(driver_.Query(*piece.done)); !done.ok()) return done;
  if (!to_device_) std::memcpy(target_ + piece.offset, piece.block, piece.bytes);
  pinned_.GiveBack(piece.block);
  pieces_.pop_front();
  return {};
}

DriverStatus StagedCopy::SubmitPiece(StreamHandle stream) {
  const std::uint64_t bytes = std::min(bytes_ - submitted_bytes_, kPieceBytes);
  DriverResult<std::byte*> block = pinned_.Take(bytes);
  if (!block.ok()) return std::move(block.status);
  pieces_.push_back(
      {.block = block.value, .done = nullptr, .offset = submitted_bytes_, .bytes = bytes});
  Piece& piece = pieces_.back();
  const std::byte* const source = source_ + piece.offset;
  DriverStatus copied;
  if (to_device_) {
    std::memcpy(piece.block, source, bytes);
    copied = driver_.CopyToDevice(stream, target_ + piece.offset, piece.block, bytes);
  } else {
    copied = driver_.CopyToHost(stream, piece.block, source, bytes);
  }
  if (!copied.ok()) return copied;
  DriverResult<EventPool::Event> done = events_.Record(stream);
  if (!done.ok()) return std::move(done.status);
  piece.done = std::move(done.value);
  submitted_bytes_ += bytes;
  return {};
}

DriverResult<bool> StagedCopy::Step(StreamHandle stream) {
  bool moved = false;
  // The last blocks of a copy to the device are taken back with the copy.
  if (!pieces_.empty() && (!to_device_ || pieces_.size() >= kMaxPieces)) {
    DriverStatus taken = TakeBack();
    if (!taken.ok() && taken.code != DriverCode::kNotReady) return {.status = std::move(taken)};
    moved = taken.ok();
  }
  if (!all_submitted() && pieces_.size() < kMaxPieces) {
    if (DriverStatus submitted = SubmitPiece(stream); !submitted.ok()) {
      return {.status = std::move(submitted)};
    }
    moved = true;
  }
  return {.value = moved};
}

}  // namespace acceld::cuda
