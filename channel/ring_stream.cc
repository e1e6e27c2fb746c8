#include "channel/ring_stream.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "channel/descriptor_passing.h"
#include "channel/socket_stream.h"

namespace acceld {
namespace {

// The client writes the first ring, the server the second.
std::byte* RingAt(const SealedMemory& memory, std::uint64_t ring_bytes, bool first) {
  return memory.data() + (first ? 0 : RingMemoryBytes(ring_bytes));
}

}  // namespace

RingStream::RingStream(Side side, UniqueFd socket, SealedMemory memory, std::uint64_t ring_bytes)
    : side_(side),
      socket_(std::move(socket)),
      memory_(std::move(memory)),
      reader_(RingAt(memory_, ring_bytes, side == Side::kServer), ring_bytes),
      writer_(RingAt(memory_, ring_bytes, side == Side::kClient), ring_bytes) {
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void RingStream::Kick() {
  const std::byte one{1};
  // A socket that takes no more is readable already, and one that is closed tells so by itself.
  (void)send(socket_.get(), &one, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void RingStream::Nudge() {
  if (writer_.ReaderMaySleep() && writer_.TakeReaderSleeps()) Kick();
}

absl::StatusOr<std::size_t> RingStream::Read(absl::Span<std::byte> target) {
  absl::StatusOr<std::size_t> bytes = reader_.Read(target);
  if (bytes.ok() && *bytes > 0 && reader_.TakeWriterSleeps()) Kick();
  return bytes;
}

absl::StatusOr<std::size_t> RingStream::Write(absl::Span<const std::byte> source) {
  absl::StatusOr<std::size_t> bytes = writer_.Write(source);
  if (bytes.ok() && *bytes > 0 && writer_.TakeReaderSleeps()) Kick();
  return bytes;
}

absl::StatusOr<std::size_t> RingStream::TakeKicks() {
  std::array<std::byte, 256> kicks;
  return side_ == Side::kClient ? ReceiveWithDescriptors(fd(), absl::MakeSpan(kicks), descriptors_)
                                : ReceiveBytes(fd(), absl::MakeSpan(kicks));
}

absl::Status RingStream::WakeUp() {
  // Once, so that a peer that never stops to send does not keep this side here. What is left makes
  // the descriptor readable again.
  return TakeKicks().status();
}

absl::Status RingStream::SendDescriptor(int descriptor) {
  const std::byte one{1};
  return SendWithDescriptor(fd(), absl::MakeConstSpan(&one, 1), descriptor);
}

UniqueFd RingStream::NextDescriptor() {
  // Kicks may lie before it. An end of the socket shows at the next WakeUp again.
  while (descriptors_.empty()) {
    const absl::StatusOr<std::size_t> received = TakeKicks();
    if (!received.ok() || *received == 0) break;
  }
  if (descriptors_.empty()) return UniqueFd();
  UniqueFd first = std::move(descriptors_.front());
  descriptors_.pop_front();
  return first;
}

}  // namespace acceld
