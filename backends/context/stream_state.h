// A stream's queue of work, as StreamSet runs it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "backends/context/bound_program.h"
#include "backends/context/event_record.h"
#include "backends/device.h"
#include "backends/ops/check_op.h"

namespace acceld {

class StreamSet;

namespace internal {

// Waits for markers in several streams and gives the earliest of their errors.
struct Join {
  int remaining = 0;
  StreamError earliest;
  absl::AnyInvocable<void(absl::Status)> done;
};

// Work that the device has not done.
struct PendingWork {
  Work work;
  // The memory that the work names.
  CheckedOp operands = {};
  // Host memory that it names, if that must be kept.
  std::shared_ptr<const void> host = nullptr;
};

// Work for the device.
struct WorkItem {
  // An op is large, and so is moved as little as can be. Null once the device has done it.
  std::unique_ptr<PendingWork> pending;
  // Whether its caller is told of the stream's error, which is then cleared.
  bool takes_error = false;
};

struct RecordItem {
  std::shared_ptr<EventRecord> record;
  std::chrono::steady_clock::time_point submitted;
};

struct WaitItem {
  std::shared_ptr<EventRecord> record;
};

// Takes the stream's error, for the caller (Item::done) or for a join.
struct MarkerItem {
  std::shared_ptr<Join> join = nullptr;
};

// How far one replay of a program has come.
struct Replay {
  std::shared_ptr<const BoundProgram> program;
  // The memory that its work names.
  std::vector<std::shared_ptr<const Allocation>> allocations;
  // Of its events, in their order: what is recorded, or what is waited for; null where that was
  // never recorded.
  std::vector<std::shared_ptr<EventRecord>> records{};
  std::chrono::steady_clock::time_point submitted{};
  std::size_t next_step = 0;
  std::size_t next_record = 0;
  // How many of its steps are with the device.
  std::size_t in_flight = 0;
  // Why the rest of it was dropped.
  absl::Status cut{};

  bool AllHanded() const { return next_step == program->steps.size(); }
};

// The steps of a program, each carried out as if it were an item.
struct ReplayItem {
  std::shared_ptr<Replay> replay;
};

using Action = std::variant<WorkItem, ReplayItem, RecordItem, WaitItem, MarkerItem>;

struct Item {
  Action action;
  // Called when the item is finished; may be null.
  absl::AnyInvocable<void(absl::Status)> done = nullptr;
  // Numbers all items of a context in the order of submission.
  std::uint64_t submission = 0;
  // Keeps the streams, from when the device got its work until it has done it; of a replay, until
  // that is finished.
  std::shared_ptr<StreamSet> streams = nullptr;
  // Whether the device has done with it, when, and how its work went. It is finished behind the
  // items before it.
  bool over = false;
  std::chrono::steady_clock::time_point over_since{};
  absl::Status status{};
};

// What is left of an item: to be let go, and then `done` called, once no lock is held.
struct Finished {
  absl::AnyInvocable<void(absl::Status)> done;
  absl::Status status;
  // Of which a replay and pending work keep memory.
  Action action{};
};

struct StreamState {
  DeviceQueue queue{0};
  // Of which the first `handed` were handed to the device whole and are not finished; records
  // between them, too, for which nothing behind them waits.
  std::deque<Item> items;
  std::size_t handed = 0;
  // How much work is with the device.
  std::size_t in_flight = 0;
  StreamError error;
  // When what is finished of it was done.
  std::chrono::steady_clock::time_point time{};
  // Whether it is in the context's list of streams to advance.
  bool ready = false;
  // Whether its first item waits for an event.
  bool parked = false;
  // Whether no more work comes, so that it goes when its items are finished.
  bool destroyed = false;
};

}  // namespace internal
}  // namespace acceld
