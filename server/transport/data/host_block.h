// Host memory that a session's client shares with the daemon, counted in the session and registered
// with its device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/memory/sealed_memory.h"
#include "server/session/session.h"

namespace acceld {

class HostBlock {
 public:
  // Out of memory where the session may not have as much, or the system does not.
  static absl::StatusOr<std::shared_ptr<const HostBlock>> Create(std::shared_ptr<Session> session,
                                                                 std::uint64_t bytes);
  ~HostBlock();
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  // Its bytes go with it, even if the client keeps the descriptor. Otherwise who has it keeps them,
  // so that a client can still read what it fetched when the daemon has stopped. Any thread may
  // call it.
  void DiscardAtEnd() const { discards_ = true; }

  int fd() const { return memory_->fd(); }
  // `bytes` bytes at `offset`. Invalid argument where they are not all inside.
  absl::StatusOr<absl::Span<std::byte>> At(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  HostBlock(std::shared_ptr<Session> session, std::uint64_t bytes)
      : session_(std::move(session)), bytes_(bytes) {}

  const std::shared_ptr<Session> session_;
  const std::uint64_t bytes_;
  std::optional<SealedMemory> memory_;
  bool registered_ = false;
  mutable std::atomic<bool> discards_{false};
};

}  // namespace acceld
