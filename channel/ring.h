// A ring of bytes in memory that two processes share: one writes, the other reads.
//
// The peer may write anything anywhere in it at any time. So each side keeps its own position to
// itself and only publishes it, checks the other's position each time, and looks at bytes only once
// they are copied out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace acceld {

// What lies before a ring's bytes. Each field is written by one side; a line of the cache each.
struct RingHeader {
  // Bytes written, and read, since the start.
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  // Set by a side that is about to sleep until there are bytes, or room; taken back by who wakes
  // it.
  alignas(64) std::atomic<std::uint32_t> reader_sleeps;
  alignas(64) std::atomic<std::uint32_t> writer_sleeps;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// The memory that a ring of `size_bytes` bytes takes.
constexpr std::uint64_t RingMemoryBytes(std::uint64_t size_bytes) {
  return sizeof(RingHeader) + size_bytes;
}

// One thread's end of a ring. `memory` has RingMemoryBytes(size_bytes) bytes, was zero before
// either end was made, is aligned to 64 bytes and outlives this. `size_bytes` is a power of two.
class RingWriter {
 public:
  RingWriter(std::byte* memory, std::uint64_t size_bytes);

  // Copies as much of `source` as there is room for and returns how much. Invalid argument where
  // the reader's position makes no sense.
  absl::StatusOr<std::size_t> Write(absl::Span<const std::byte> source);

  // Whether the reader sleeps and has to be woken, by whoever asks.
  bool TakeReaderSleeps();

  // Whether it is likely to sleep; costs nothing.
  bool ReaderMaySleep() const { return header_.reader_sleeps.load(std::memory_order_relaxed) != 0; }

  // Whether half of the ring is free: who found it full waits for that, so that it goes on with
  // much at a time.
  bool HalfFree() const;
  // Says that this side is going to sleep until half is free. False where it is, or the reader's
  // position makes no sense.
  bool PrepareToSleep();

 private:
  absl::StatusOr<std::uint64_t> Room() const;

  RingHeader& header_;
  std::byte* const bytes_;
  const std::uint64_t size_bytes_;
  std::uint64_t written_ = 0;
};

// Likewise.
class RingReader {
 public:
  RingReader(std::byte* memory, std::uint64_t size_bytes);

  // Copies what is there, at most `target.size()`, and returns how much. Invalid argument where the
  // writer's position makes no sense.
  absl::StatusOr<std::size_t> Read(absl::Span<std::byte> target);

  bool Readable() const { return header_.written.load(std::memory_order_acquire) != read_; }
  // Whether the writer sleeps and half of the ring is free, so that it has to be woken, by whoever
  // asks.
  bool TakeWriterSleeps();
  // Says that this side is going to sleep until there are bytes. False where there are some.
  bool PrepareToSleep();

 private:
  RingHeader& header_;
  const std::byte* const bytes_;
  const std::uint64_t size_bytes_;
  std::uint64_t read_ = 0;
};

}  // namespace acceld
