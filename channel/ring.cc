#include "channel/ring.h"

#include <algorithm>
#include <cstring>

#include "backends/core/status.h"

namespace acceld {
namespace {

absl::Status BadPosition() {
  return InvalidArgument("The peer's position in the ring is beyond the ring.");
}

// Takes a flag of the other side's back. The fence orders it behind what was published: either this
// side sees the flag, or the other one, which looks again after it set it, sees what is new.
bool Take(std::atomic<std::uint32_t>& sleeps) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sleeps.load(std::memory_order_relaxed) == 0) return false;
  return sleeps.exchange(0, std::memory_order_relaxed) != 0;
}

void Set(std::atomic<std::uint32_t>& sleeps) {
  sleeps.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace

RingWriter::RingWriter(std::byte* memory, std::uint64_t size_bytes)
    : header_(*reinterpret_cast<RingHeader*>(memory)),
      bytes_(memory + sizeof(RingHeader)),
      size_bytes_(size_bytes) {}

absl::StatusOr<std::uint64_t> RingWriter::Room() const {
  const std::uint64_t unread = written_ - header_.read.load(std::memory_order_acquire);
  if (unread > size_bytes_) return BadPosition();
  return size_bytes_ - unread;
}

absl::StatusOr<std::size_t> RingWriter::Write(absl::Span<const std::byte> source) {
  const absl::StatusOr<std::uint64_t> room = Room();
  if (!room.ok()) return room.status();
  const std::size_t bytes = std::min<std::uint64_t>(source.size(), *room);
  if (bytes == 0) return 0;
  const std::uint64_t position = written_ % size_bytes_;
  const std::size_t first = std::min<std::uint64_t>(bytes, size_bytes_ - position);
  std::memcpy(bytes_ + position, source.data(), first);
  if (first < bytes) std::memcpy(bytes_, source.data() + first, bytes - first);
  written_ += bytes;
  header_.written.store(written_, std::memory_order_release);
  return bytes;
}

bool RingWriter::TakeReaderSleeps() { return Take(header_.reader_sleeps); }

bool RingWriter::HalfFree() const {
  // A position that makes no sense is for Write to report.
  const absl::StatusOr<std::uint64_t> room = Room();
  return !room.ok() || *room >= size_bytes_ / 2;
}

bool RingWriter::PrepareToSleep() {
  Set(header_.writer_sleeps);
  return !HalfFree();
}

RingReader::RingReader(std::byte* memory, std::uint64_t size_bytes)
    : header_(*reinterpret_cast<RingHeader*>(memory)),
      bytes_(memory + sizeof(RingHeader)),
      size_bytes_(size_bytes) {}

absl::StatusOr<std::size_t> RingReader::Read(absl::Span<std::byte> target) {
  const std::uint64_t unread = header_.written.load(std::memory_order_acquire) - read_;
  if (unread > size_bytes_) return BadPosition();
  const std::size_t bytes = std::min<std::uint64_t>(target.size(), unread);
  if (bytes == 0) return 0;
  const std::uint64_t position = read_ % size_bytes_;
  const std::size_t first = std::min<std::uint64_t>(bytes, size_bytes_ - position);
  std::memcpy(target.data(), bytes_ + position, first);
  if (first < bytes) std::memcpy(target.data() + first, bytes_, bytes - first);
  read_ += bytes;
  header_.read.store(read_, std::memory_order_release);
  return bytes;
}

bool RingReader::TakeWriterSleeps() {
  const std::uint64_t unread = header_.written.load(std::memory_order_relaxed) - read_;
  return unread <= size_bytes_ / 2 && Take(header_.writer_sleeps);
}

bool RingReader::PrepareToSleep() {
  Set(header_.reader_sleeps);
  return !Readable();
}

}  // namespace acceld
