// A stream's queue of work, as StreamSet runs it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <variant>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
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

// Work for the device.
struct WorkItem {
  Work work;
  // The memory that the work names.
  CheckedOp operands = {};
  // Host memory that it names, if that must be kept.
  std::shared_ptr<const void> host = nullptr;
  // Whether its caller is told of the stream's error, which is then cleared.
  bool takes_error = false;
};

struct RecordItem {
  std::shared_ptr<EventRecord> record;
};

struct WaitItem {
  std::shared_ptr<EventRecord> record;
};

// Takes the stream's error, for the caller (Item::done) or for a join.
struct MarkerItem {
  std::shared_ptr<Join> join = nullptr;
};

struct Item {
  std::variant<WorkItem, RecordItem, WaitItem, MarkerItem> action;
  // Called when the item is finished; may be null.
  absl::AnyInvocable<void(absl::Status)> done = nullptr;
  // Numbers all items of a context in the order of submission.
  std::uint64_t submission = 0;
  // Set while the item is with the device, which then keeps the streams.
  std::shared_ptr<StreamSet> streams = nullptr;
};

// What is left of an item: to be let go, and then `done` called, once no lock is held.
struct Finished {
  absl::AnyInvocable<void(absl::Status)> done;
  absl::Status status;
  CheckedOp operands = {};
  std::shared_ptr<const void> host = nullptr;
};

struct StreamState {
  DeviceQueue queue{0};
  // Of which the first `handed` were handed to the device and are not finished.
  std::deque<Item> items;
  std::size_t handed = 0;
  // How much work is with the device.
  std::size_t in_flight = 0;
  StreamError error;
  // Whether it is in the context's list of streams to advance.
  bool ready = false;
  // Whether its first item waits for an event.
  bool parked = false;
  // Whether no more work comes, so that it goes when its items are finished.
  bool destroyed = false;
};

}  // namespace internal
}  // namespace acceld
