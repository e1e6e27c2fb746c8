// One queue of a cuda device: a stream of the driver, and the work in it. What the stream cannot
// take at once (copies of memory that is not pinned, and what comes behind them) waits here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "backends/core/mutex.h"
#include "backends/cuda/background_thread.h"
#include "backends/cuda/context.h"
#include "backends/cuda/device_health.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/event_pool.h"
#include "backends/cuda/graph_cache.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/cuda/pinned_ranges.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/staged_copy.h"
#include "backends/cuda/stream_workspace.h"
#include "backends/device.h"
#include "backends/kernel_table.h"

namespace acceld::cuda {

// What the queues of a device share.
struct DeviceParts {
  // `driver` outlives it.
  DeviceParts(Driver& the_driver, std::uint64_t memory_limit_bytes)
      : driver(the_driver), memory(the_driver, memory_limit_bytes) {}

  Driver& driver;
  DeviceHealth health;
  PinnedRanges pinned_ranges;
  PinnedPool pinned{driver};
  EventPool events{driver};
  PlanCache plans{driver};
  DeviceMemory memory;
  GraphCache graphs{driver, memory, plans, pinned};
  // Submits what takes long. Last, so that its destructor, which finishes that, comes first.
  BackgroundThread submissions{"acceld-cuda-sub", "submission"};
};

// Submit is thread-safe, and does not wait; Advance is called by one thread.
class CudaQueue : public std::enable_shared_from_this<CudaQueue> {
 public:
  // `parts` outlives the queue, which takes the stream.
  CudaQueue(DeviceParts& parts, StreamHandle stream) : parts_(parts), stream_(stream) {}
  // All its work is done.
  ~CudaQueue();
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  // As WorkSink's. True where the queue was idle: Advance is then to be called until it is again.
  bool Submit(const Work& work, WorkDone done);

  enum class Progress {
    kIdle,     // there is no work
    kWaiting,  // the card works on what there is
    kMoved,    // some work was submitted or completed
  };
  // Completes what is done and goes on with what waits.
  Progress Advance();

 private:
  // When an item's start event is reached.
  enum class Starts : std::uint8_t {
    kAtOnce,         // when it is given to the stream, which had nothing else
    kWithEndBefore,  // it is the end of the item before
    kLater,          // who knows when
  };
  struct Item {
    const Work* work;
    WorkDone done;
    // What submitting it came to.
    absl::Status status{};
    EventPool::Event start{};
    EventPool::Event end{};
    Starts starts = Starts::kLater;
    // When `start` was given to the stream.
    std::chrono::steady_clock::time_point submitted{};
    OpResources resources{};
    std::unique_ptr<StagedCopy> staged{};
  };

  using Wait = CudaContext::Wait;

  // Gives the stream what it can take, unless a thread does so already. True where it took
  // something.
  bool SubmitWaiting() ACCELD_REQUIRES(mutex_);
  // The same for the one thread that does. `wait` is for the first item; where one has to wait, the
  // thread for that goes on with it.
  bool SubmitItems(Wait wait) ACCELD_REQUIRES(mutex_);
  enum class Submitted { kAll, kSome, kNothing, kHasToWait };
  // Gives the stream one item, or what it can take of it. `idle`: the stream has nothing else.
  Submitted SubmitItem(Item& item, bool idle, Wait wait);
  absl::Status StartItem(Item& item, bool idle, Wait wait);
  absl::Status SubmitOp(const Op& op, Item& item, Wait wait);
  // One of several: what counts for `item` is the most workspace that any of them has.
  absl::Status SubmitNextOp(const Op& op, Item& item);
  // By its graph; without one, op by op up to the first that fails, which may wait.
  absl::Status SubmitProgram(const CudaProgram& program, std::shared_ptr<const Graph> graph,
                             Item& item, Wait wait);
  template <typename HostOrDeviceCopy>
  absl::Status SubmitCopy(const HostOrDeviceCopy& copy, Item& item);
  // Marks the end of what the stream was given of `item`.
  void EndItem(Item& item);

  // Whether the first item is done; its status then says how. Sets `moved` where it did some of it.
  bool Finished(Item& item, bool& moved);
  void Complete(Item item);
  // Gives up what there need not be, for memory; whether there may be more then.
  bool LetGo(bool may_wait);
  // Ends `item` with an error, unless it has one, which only a loss replaces. Where the card is
  // lost, the queue's first work is the one that ran.
  void Fail(Item& item, const absl::Status& error);
  void Fail(Item& item, const DriverStatus& error);

  DeviceParts& parts_;
  const StreamHandle stream_;
  StreamWorkspace workspace_{parts_.memory.budget(),
                             {.let_go = [this](bool may_wait) { return LetGo(may_wait); },
                              .is_within_budget = [this] { return parts_.memory.IsWithinBudget(); },
                              .keep_to_budget = [this] { parts_.memory.KeepToBudget(); }}};
  // How much of the device's memory the stream is ordered behind; of whoever submits.
  std::uint64_t seen_memory_ = 0;
  // The end of what the stream was given last.
  EventPool::Event last_end_;

  // When the work that was completed last was done; of Advance.
  std::chrono::steady_clock::time_point last_finished_{};

  Mutex mutex_;
  // Its first `submitted_` are with the stream.
  std::deque<Item> items_ ACCELD_GUARDED_BY(mutex_);
  std::size_t submitted_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Whether a thread submits to the stream.
  bool submitting_ ACCELD_GUARDED_BY(mutex_) = false;
  bool active_ ACCELD_GUARDED_BY(mutex_) = false;
};

// "gemm"; "a copy to the device"; "a program of 3 ops, gemm first,".
std::string NameOf(const Work& work);

}  // namespace acceld::cuda
