// The workspace of one stream's work, as the device's budget counts it. Work of a stream runs one
// after the other, and its workspace goes back in that order and is used again; so what counts is
// the most that any of it has, from when it is submitted until the host has seen it done.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "backends/core/mutex.h"
#include "backends/memory/memory_budget.h"

namespace acceld::cuda {

// Thread-safe.
class StreamWorkspace {
 public:
  // `budget` outlives it. `let_go` gives up what the device keeps only to be faster, and says
  // whether there was any. `keep_to_budget` waits for what runs where the device has taken too much
  // of the card.
  explicit StreamWorkspace(MemoryBudget& budget, std::function<bool()> let_go = nullptr,
                           std::function<void()> keep_to_budget = nullptr)
      : budget_(budget), let_go_(std::move(let_go)), keep_to_budget_(std::move(keep_to_budget)) {}
  // All work has ended.
  ~StreamWorkspace() = default;
  StreamWorkspace(const StreamWorkspace&) = delete;
  StreamWorkspace& operator=(const StreamWorkspace&) = delete;

  // `bytes` more for an op that has `op_bytes`, to which they are added; 0 at first. Out of memory,
  // and nothing added, where the op's workspace does not fit beside what is allocated.
  absl::Status Add(std::uint64_t bytes, std::uint64_t& op_bytes);
  // An op that has `op_bytes` is done.
  void End(std::uint64_t op_bytes);

  // To be called where there is no memory; true where it may be tried once more.
  bool LetGo() const { return let_go_ != nullptr && let_go_(); }

  // Comes after workspace was allocated.
  void KeepToBudget() const {
    if (keep_to_budget_ != nullptr) keep_to_budget_();
  }

 private:
  void Count() ACCELD_REQUIRES(mutex_);

  MemoryBudget& budget_;
  const std::function<bool()> let_go_;
  const std::function<void()> keep_to_budget_;
  Mutex mutex_;
  // Of the ops under way that have any.
  std::multiset<std::uint64_t> of_ops_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t counted_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
};

}  // namespace acceld::cuda
