// The daemon's end of a data channel, played by the test.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "channel/socket_stream.h"
#include "client/data_channel.h"
#include "gtest/gtest.h"
#include "proto/frames/command_frame.h"
#include "tests/unit/channel/stream_pair.h"

namespace acceld {

// A frame of the client's.
struct SentFrame {
  frames::Header header;
  std::vector<std::byte> payload;

  frames::Kind kind() const { return static_cast<frames::Kind>(header.kind); }
  absl::StatusOr<Command> command() const {
    return frames::ToCommand(header,
                             absl::MakeConstSpan(payload).subspan(0, frames::FieldBytes(header)));
  }
  // The bytes of a write.
  std::string data() const {
    const auto rest = absl::MakeConstSpan(payload).subspan(frames::FieldBytes(header));
    return std::string(reinterpret_cast<const char*>(rest.data()), rest.size());
  }
};

class ScriptedDaemon {
 public:
  // Over a socket, or over rings of `ring_bytes` bytes. `link` becomes the client's end.
  explicit ScriptedDaemon(DataLink& link, std::uint64_t ring_bytes = 0) {
    if (ring_bytes == 0) {
      SocketPair sockets;
      link.stream =
          std::make_unique<SocketStream>(std::move(sockets.first), /*takes_descriptors=*/true);
      stream_ = std::make_unique<SocketStream>(std::move(sockets.second));
      return;
    }
    RingPair rings(ring_bytes);
    link.ring = rings.client.get();
    link.stream = std::move(rings.client);
    ring_ = rings.server.get();
    stream_ = std::move(rings.server);
  }

  // The client's next frame; one of kind 0 where it has closed, or sends none within a minute.
  SentFrame Next() {
    while (true) {
      frames::Header header;
      if (received_.size() >= sizeof header) {
        std::memcpy(&header, received_.data(), sizeof header);
        const std::size_t bytes = sizeof header + header.payload_bytes;
        if (received_.size() >= bytes) {
          const auto end = received_.begin() + static_cast<std::ptrdiff_t>(bytes);
          SentFrame frame{.header = header, .payload = {received_.begin() + sizeof header, end}};
          received_.erase(received_.begin(), end);
          return frame;
        }
      }
      if (!Receive()) return {};
    }
  }

  void Send(absl::Span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const absl::StatusOr<std::size_t> sent = stream_->Write(bytes);
      if (!sent.ok()) return;
      bytes.remove_prefix(*sent);
      if (*sent == 0) std::this_thread::yield();
    }
  }
  void SendFinished(std::uint64_t number) {
    std::vector<std::byte> frame;
    frames::AppendFinished(number, frame);
    Send(absl::MakeConstSpan(frame));
  }
  void SendResult(std::uint64_t number, const CommandResult& result) {
    std::vector<std::byte> frame;
    frames::Append(number, result, frame);
    Send(absl::MakeConstSpan(frame));
  }
  // ... which brings `descriptor`.
  void SendResult(std::uint64_t number, const CommandResult& result, int descriptor) {
    std::vector<std::byte> frame;
    frames::Append(number, result, frame);
    if (ring_ != nullptr) {
      ASSERT_TRUE(ring_->SendDescriptor(descriptor).ok());
      return Send(absl::MakeConstSpan(frame));
    }
    const absl::StatusOr<std::size_t> sent =
        stream_->WriteWithDescriptor(absl::MakeConstSpan(frame), descriptor);
    ASSERT_EQ(sent.value_or(0), frame.size());
  }
  static std::vector<std::byte> DataFrame(std::uint64_t number, std::string_view data) {
    const frames::Header header{.payload_bytes = static_cast<std::uint32_t>(data.size()),
                                .kind = static_cast<std::uint16_t>(frames::Kind::kData),
                                .number = number};
    const auto* bytes = reinterpret_cast<const std::byte*>(&header);
    std::vector<std::byte> frame(bytes, bytes + sizeof header);
    const auto rest = BytesOf(data);
    frame.insert(frame.end(), rest.begin(), rest.end());
    return frame;
  }

  // Waits, a minute at most, until the client has taken all that was sent on the socket.
  void AwaitTaken() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    int left = 1;
    while (left > 0 && std::chrono::steady_clock::now() < deadline) {
      ASSERT_EQ(ioctl(stream_->fd(), SIOCOUTQ, &left), 0);
      std::this_thread::yield();
    }
    ASSERT_EQ(left, 0);
  }

  RingStream& ring() { return *ring_; }

 private:
  bool Receive() {
    std::byte bytes[4096];
    while (true) {
      const absl::StatusOr<std::size_t> read = stream_->Read(absl::MakeSpan(bytes));
      if (!read.ok()) return false;
      received_.insert(received_.end(), bytes, bytes + *read);
      if (*read > 0) return true;
      if (!stream_->PrepareToWaitForBytes()) continue;
      if (!BecomesReadable(stream_->fd())) return false;
      if (!stream_->WakeUp().ok() && !stream_->Readable()) return false;
    }
  }

  std::unique_ptr<ByteStream> stream_;
  RingStream* ring_ = nullptr;
  std::vector<std::byte> received_;
};

}  // namespace acceld
