// The other end of a data channel, made of raw frames.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel/descriptor_passing.h"
#include "channel/socket_stream.h"
#include "proto/frames/pack.h"
#include "tests/unit/channel/stream_pair.h"
#include "tests/unit/server/transport/data/received_frames.h"

namespace acceld {

class DataClient {
 public:
  explicit DataClient(UniqueFd socket)
      : stream_(std::make_unique<SocketStream>(std::move(socket), /*takes_descriptors=*/true)) {}

  static frames::Hello MakeHello(std::string_view secret, bool shared_memory) {
    frames::Hello hello{.version = frames::kVersion, .shared_memory = shared_memory};
    std::memcpy(hello.magic.data(), frames::kMagic, hello.magic.size());
    std::memcpy(hello.secret.data(), secret.data(), std::min(secret.size(), hello.secret.size()));
    return hello;
  }
  void Say(const frames::Hello& hello) {
    Send({reinterpret_cast<const std::byte*>(&hello), sizeof hello});
  }

  // Takes the answer to a hello, and goes on in the rings that it brings.
  ReceivedFrame Welcome() {
    std::deque<UniqueFd> descriptors;
    std::vector<ReceivedFrame> answer;
    while (answer.empty() && BecomesReadable(stream_->fd())) {
      std::byte bytes[4096];
      const auto received =
          ReceiveWithDescriptors(stream_->fd(), absl::MakeSpan(bytes), descriptors);
      if (!received.ok()) break;
      received_.insert(received_.end(), bytes, bytes + *received);
      answer = TakeFrames(received_);
    }
    if (answer.empty()) return {};
    if (!descriptors.empty()) {
      frames::Unpacker unpacker(answer.front().payload);
      std::uint64_t ring_bytes = 0;
      unpacker.Take(ring_bytes);
      const std::uint64_t bytes = RingStream::MemoryBytes(ring_bytes);
      auto rings = std::make_unique<RingStream>(
          RingStream::Side::kClient, static_cast<SocketStream&>(*stream_).Release(),
          *SealedMemory::Open(descriptors.front().Release(), bytes), ring_bytes);
      ring_ = rings.get();
      stream_ = std::move(rings);
    }
    return answer.front();
  }

  // Sends all of it, as long as the daemon takes it.
  bool Send(absl::Span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const absl::StatusOr<std::size_t> sent = stream_->Write(bytes);
      if (!sent.ok()) return false;
      bytes.remove_prefix(*sent);
      if (*sent == 0 && !AwaitRoom()) return false;
    }
    return true;
  }
  bool Send(const std::vector<Command>& commands) {
    std::vector<std::byte> bytes;
    for (const Command& each : commands) {
      frames::Append(each, bytes);
      if (const auto* write = std::get_if<command::Write>(&each.action)) {
        bytes.insert(bytes.end(), write->data.begin(), write->data.end());
      }
    }
    return Send(absl::MakeConstSpan(bytes));
  }

  // The next frame; one of no kind where the daemon has closed, or sends none within a minute.
  ReceivedFrame Next() {
    while (taken_.empty()) {
      std::byte bytes[4096];
      const absl::StatusOr<std::size_t> read = stream_->Read(absl::MakeSpan(bytes));
      if (!read.ok()) return {};
      received_.insert(received_.end(), bytes, bytes + *read);
      for (ReceivedFrame& frame : TakeFrames(received_)) taken_.push_back(std::move(frame));
      if (*read > 0 || !stream_->PrepareToWaitForBytes()) continue;
      if (!BecomesReadable(stream_->fd())) return {};
      // What was written before the end is still there.
      if (!stream_->WakeUp().ok() && !stream_->Readable()) return {};
    }
    ReceivedFrame first = std::move(taken_.front());
    taken_.pop_front();
    return first;
  }
  // The frames up to the one that says all up to `number` have finished.
  std::vector<ReceivedFrame> UntilFinished(std::uint64_t number) {
    std::vector<ReceivedFrame> all;
    do {
      all.push_back(Next());
    } while (all.back().header.kind != 0 && all.back().kind() != frames::Kind::kEnd &&
             !(all.back().kind() == frames::Kind::kFinished && all.back().header.number >= number));
    return all;
  }

  // Whether there is room within `timeout_ms`.
  bool AwaitRoom(int timeout_ms = 60'000) {
    if (ring_ == nullptr) {
      pollfd polled{stream_->fd(), POLLOUT, 0};
      return poll(&polled, 1, timeout_ms) == 1;
    }
    if (!stream_->PrepareToWaitForRoom()) return true;
    return BecomesReadable(stream_->fd(), timeout_ms) && stream_->WakeUp().ok();
  }

  ByteStream& stream() { return *stream_; }
  RingStream* ring() { return ring_; }

 private:
  std::unique_ptr<ByteStream> stream_;
  RingStream* ring_ = nullptr;
  std::vector<std::byte> received_;
  std::deque<ReceivedFrame> taken_;
};

}  // namespace acceld
