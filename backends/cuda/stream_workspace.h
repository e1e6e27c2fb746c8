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
  // What it asks of the device.
  struct Device {
    // Gives up what is kept only to be faster, and says whether there was any; also what has to be
    // waited for, if it may.
    std::function<bool(bool may_wait)> let_go = [](bool) { return false; };
    // Whether the device has taken no more of the card than it may; does not wait.
    std::function<bool()> is_within_budget = [] { return true; };
    // Waits for what runs where it has.
    std::function<void()> keep_to_budget = [] {};
  };

  // `budget` outlives it.
  explicit StreamWorkspace(MemoryBudget& budget) : budget_(budget) {}
  StreamWorkspace(MemoryBudget& budget, Device device)
      : budget_(budget), device_(std::move(device)) {}
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
  bool LetGo(bool may_wait) const { return device_.let_go(may_wait); }

  // One of these comes after workspace was allocated; where the first says no, it is to be given
  // back.
  bool IsWithinBudget() const { return device_.is_within_budget(); }
  void KeepToBudget() const { device_.keep_to_budget(); }

 private:
  void Count() ACCELD_REQUIRES(mutex_);

  MemoryBudget& budget_;
  const Device device_;
  Mutex mutex_;
  // Of the ops under way that have any.
  std::multiset<std::uint64_t> of_ops_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t counted_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
};

}  // namespace acceld::cuda
