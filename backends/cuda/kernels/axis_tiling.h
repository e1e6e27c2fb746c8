// How a dense array [outer, length, inner] that is folded along `length` is shared out among
// blocks and threads; by its shape alone, so that the same call gives the same bits on every card.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/grid.h"

namespace acceld::cuda {

// A slot is a pair of outer and inner index, whose `length` elements are folded. A block has
// `outers` x `columns` slots, with adjacent inner indices, and `lanes` threads for each. Where
// there are few slots the length is cut into segments, a block each.
class AxisTiling {
 public:
  static constexpr int kThreads = 256;

  // What a thread does: the elements at first + l * stride, with l from `begin` on in steps of
  // lanes() below `end`.
  struct Part {
    std::int64_t first;
    std::int64_t stride;
    std::int64_t begin;
    std::int64_t end;
    // The slot among all of the array.
    std::int64_t slot;
    std::int64_t segment;
    // The slot and the lane within the block; a thread without a slot has slot_in_block < 0.
    int slot_in_block;
    int lane;
  };

  AxisTiling() = default;
  // Without `may_cut` there is one segment.
  AxisTiling(std::int64_t outer, std::int64_t length, std::int64_t inner, bool may_cut)
      : outer_(outer), length_(length), inner_(inner) {
    // Enough columns for whole lines of memory come before many lanes, unless length is all there
    // is to share out.
    const int line_columns = may_cut ? 32 : 4;
    const int most_lanes = kThreads / static_cast<int>(Smaller<std::int64_t>(inner, line_columns));
    while (2 * lanes_ <= most_lanes && lanes_ * kElementsPerLane < length) lanes_ *= 2;
    column_blocks_ = CeilDivide(inner, kThreads / lanes_);
    columns_ = static_cast<int>(CeilDivide(inner, column_blocks_));
    outers_ = static_cast<int>(Smaller<std::int64_t>(outer, kThreads / (lanes_ * columns_)));
    lanes_ = static_cast<int>(Smaller<std::int64_t>(length, kThreads / (columns_ * outers_)));
    segment_length_ = length;
    if (!may_cut) return;
    const std::int64_t most = Larger<std::int64_t>(1, kEnoughBlocks / blocks());
    segment_length_ = Larger(CeilDivide(length, most),
                             static_cast<std::int64_t>(lanes_) * kElementsPerSegmentLane);
    segments_ = CeilDivide(length, segment_length_);
  }

  std::int64_t elements() const { return outer_ * length_ * inner_; }
  std::int64_t slots() const { return outer_ * inner_; }
  std::int64_t blocks() const { return CeilDivide(outer_, outers_) * column_blocks_ * segments_; }
  ACCELD_HOST_DEVICE std::int64_t segments() const { return segments_; }
  ACCELD_HOST_DEVICE std::int64_t length() const { return length_; }
  ACCELD_HOST_DEVICE int lanes() const { return lanes_; }
  ACCELD_HOST_DEVICE int slots_per_block() const { return columns_ * outers_; }

  ACCELD_HOST_DEVICE Part At(std::int64_t block, int thread) const {
    const std::int64_t slot_block = Quotient(block, segments_);
    const std::int64_t outer_block = Quotient(slot_block, column_blocks_);
    const int row = thread / columns_;
    const int column_in_block = thread - row * columns_;
    const int outer_in_block = row / lanes_;
    const std::int64_t outer = outer_block * outers_ + outer_in_block;
    const std::int64_t column =
        (slot_block - outer_block * column_blocks_) * columns_ + column_in_block;
    Part part{};
    part.lane = row - outer_in_block * lanes_;
    const bool has_slot = outer_in_block < outers_ && outer < outer_ && column < inner_;
    part.slot_in_block = has_slot ? outer_in_block * columns_ + column_in_block : -1;
    part.slot = outer * inner_ + column;
    part.first = outer * length_ * inner_ + column;
    part.stride = inner_;
    part.segment = block - slot_block * segments_;
    part.begin = part.segment * segment_length_ + part.lane;
    part.end = has_slot ? Smaller((part.segment + 1) * segment_length_, length_) : 0;
    return part;
  }

 private:
  // Of a slot, where there are slots enough.
  static constexpr int kElementsPerLane = 8;
  // Segments are not cut shorter.
  static constexpr int kElementsPerSegmentLane = 16;
  // With this many blocks a card is busy.
  static constexpr std::int64_t kEnoughBlocks = 1024;

  std::int64_t outer_ = 0;
  std::int64_t length_ = 0;
  std::int64_t inner_ = 1;
  int columns_ = 1;
  int lanes_ = 1;
  int outers_ = 1;
  // Blocks side by side along `inner`.
  std::int64_t column_blocks_ = 1;
  std::int64_t segments_ = 1;
  std::int64_t segment_length_ = 0;
};

// The lanes of each slot put their values at values[lane * slots + slot]; afterwards the slot's
// result is at values[slot]. combine(into, value) folds; the order depends on `lanes` alone.
template <typename Value, typename Block, typename Combine>
ACCELD_HOST_DEVICE void CombineLanes(Block& block, const AxisTiling& tiling, Value* values,
                                     Combine combine) {
  constexpr int kAtOnce = 16;
  const int lanes = tiling.lanes();
  const int slots = tiling.slots_per_block();
  // First each of the first lanes takes in those kAtOnce apart from it, then the first all these.
  if (lanes > kAtOnce) {
    block.Phase([&](int thread, auto&) {
      const int lane = thread / slots;
      if (lane >= kAtOnce) return;
      for (int other = lane + kAtOnce; other < lanes; other += kAtOnce) {
        combine(values[thread], values[other * slots + thread - lane * slots]);
      }
    });
  }
  if (lanes > 1) {
    block.Phase([&](int thread, auto&) {
      if (thread >= slots) return;
      for (int other = 1; other < Smaller(lanes, kAtOnce); ++other) {
        combine(values[thread], values[other * slots + thread]);
      }
    });
  }
}

}  // namespace acceld::cuda
