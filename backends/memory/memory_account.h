// Counts the memory that somebody holds, and with it what those above hold: a session's account
// adds to the daemon's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace acceld {

// Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::shared_ptr<MemoryAccount> parent = nullptr)
      : parent_(std::move(parent)) {}

  void Add(std::uint64_t bytes) {
    for (MemoryAccount* account = this; account; account = account->parent_.get()) {
      account->used_bytes_ += bytes;
    }
  }

  void Remove(std::uint64_t bytes) {
    for (MemoryAccount* account = this; account; account = account->parent_.get()) {
      account->used_bytes_ -= bytes;
    }
  }

  std::uint64_t used_bytes() const { return used_bytes_; }

 private:
  const std::shared_ptr<MemoryAccount> parent_;
  std::atomic<std::uint64_t> used_bytes_{0};
};

}  // namespace acceld
