// A stream whose other end is the test.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "channel/byte_stream.h"

namespace acceld {

class FakeStream final : public ByteStream {
 public:
  // Has `bytes` arrive, in one piece.
  void Arrive(absl::Span<const std::byte> bytes) {
    if (!bytes.empty()) arriving_.emplace_back(bytes.begin(), bytes.end());
  }
  // How many more bytes are taken.
  std::size_t room = std::numeric_limits<std::size_t>::max();
  // What was written.
  std::vector<std::byte> written;
  // What every call returns from now on.
  absl::Status broken;
  // How often somebody was about to wait for room.
  int waits_for_room = 0;

  absl::StatusOr<std::size_t> Read(absl::Span<std::byte> target) override {
    if (!broken.ok()) return broken;
    if (arriving_.empty() || target.empty()) return 0;
    std::vector<std::byte>& next = arriving_.front();
    const std::size_t bytes = std::min(target.size(), next.size());
    std::memcpy(target.data(), next.data(), bytes);
    next.erase(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(bytes));
    if (next.empty()) arriving_.pop_front();
    return bytes;
  }
  absl::StatusOr<std::size_t> Write(absl::Span<const std::byte> source) override {
    if (!broken.ok()) return broken;
    const std::size_t bytes = std::min(source.size(), room);
    room -= bytes;
    written.insert(written.end(), source.begin(),
                   source.begin() + static_cast<std::ptrdiff_t>(bytes));
    return bytes;
  }
  // The descriptors that were sent, as the test knows them, with where in `written` they came.
  std::vector<std::pair<int, std::size_t>> descriptors;
  // What sending one comes to, besides what is broken.
  absl::Status no_descriptors;
  absl::StatusOr<std::size_t> WriteWithDescriptor(absl::Span<const std::byte> source,
                                                  int descriptor) override {
    if (!no_descriptors.ok()) return no_descriptors;
    const std::size_t place = written.size();
    absl::StatusOr<std::size_t> bytes = Write(source);
    if (bytes.ok() && *bytes > 0) descriptors.emplace_back(descriptor, place);
    return bytes;
  }
  int fd() const override { return -1; }
  bool CheapToPoll() const override { return true; }
  bool Readable() const override { return !arriving_.empty(); }
  bool Writable() const override { return room > 0; }
  bool PrepareToWaitForBytes() override { return !Readable(); }
  bool PrepareToWaitForRoom() override {
    ++waits_for_room;
    return room == 0;
  }
  absl::Status WakeUp() override { return broken; }

 private:
  std::deque<std::vector<std::byte>> arriving_;
};

}  // namespace acceld
