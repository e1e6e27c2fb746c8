// The memory a device may use: a count, since the host's memory has no edge of its own that is safe
// to reach, and a card may be shared with others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace acceld {

// Thread-safe.
class MemoryBudget {
 public:
  // `owner`, such as "The cpu device", is whom errors begin with. A limit beyond 2^62 counts as
  // 2^62, so that sizes within it can be rounded up. `make_room` is called after each reservation
  // with the bytes that are left: what is kept beside the budget may not take more.
  MemoryBudget(std::string owner, std::uint64_t limit_bytes,
               std::function<void(std::uint64_t left_bytes)> make_room = nullptr)
      : owner_(std::move(owner)),
        limit_bytes_(std::min(limit_bytes, std::uint64_t{1} << 62)),
        make_room_(std::move(make_room)) {}

  // Counts `bytes`, rounded up to what an allocation takes. Out of memory, and nothing counted,
  // where that exceeds the limit; a smaller request may then still succeed.
  absl::Status Reserve(std::uint64_t bytes);
  // Takes back a reservation of `bytes`.
  void Release(std::uint64_t bytes);

  // Workspace of ops that run side by side ends by itself. Whether one has its own depends on what
  // is reserved, and not on what else runs: the sum may exceed the limit until that has ended.

  // Out of memory where `bytes` of workspace, of one op, do not fit beside what is reserved.
  absl::Status CheckWorkspace(std::uint64_t bytes) const;
  // Counts workspace, which was checked and rounded up, and takes it back.
  void AddWorkspace(std::uint64_t bytes);
  void RemoveWorkspace(std::uint64_t bytes);

  std::uint64_t limit_bytes() const { return limit_bytes_; }
  std::uint64_t workspace_bytes() const { return workspace_bytes_; }
  // With workspace; may exceed the limit.
  std::uint64_t used_bytes() const;
  std::uint64_t left_bytes() const { return limit_bytes_ - std::min(used_bytes(), limit_bytes_); }

 private:
  // Whether `bytes` fit beside `reserved`.
  bool Fits(std::uint64_t bytes, std::uint64_t reserved) const;
  absl::Status Exceeded(std::uint64_t bytes, std::uint64_t reserved) const;

  const std::string owner_;
  const std::uint64_t limit_bytes_;
  const std::function<void(std::uint64_t left_bytes)> make_room_;
  // At most the limit.
  std::atomic<std::uint64_t> reserved_bytes_{0};
  std::atomic<std::uint64_t> workspace_bytes_{0};
};

}  // namespace acceld
