#include "backends/cuda/cuda_queue.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <type_traits>
#include <utility>

#include "backends/core/status.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/op_table.h"
#include "fmt/format.h"

namespace acceld::cuda {

namespace {

std::string_view NameOf(const Op& op) {
  return std::visit([](const auto& typed) { return typed.kName; }, op);
}

}  // namespace

std::string NameOf(const Work& work) {
  if (const Op* op = std::get_if<Op>(&work)) return std::string(NameOf(*op));
  if (const auto* program = std::get_if<const DeviceProgram*>(&work)) {
    const std::vector<Op>& ops = (*program)->ops();
    return fmt::format("a program of {} ops, {} first,", ops.size(), NameOf(ops.front()));
  }
  return std::holds_alternative<HostToDevice>(work) ? "a copy to the device"
                                                    : "a copy from the device";
}

CudaQueue::~CudaQueue() { (void)parts_.driver.DestroyStream(stream_); }

bool CudaQueue::Submit(const Work& work, WorkDone done) {
  MutexLock lock(mutex_);
  items_.push_back({.work = &work, .done = std::move(done)});
  SubmitWaiting();
  return !std::exchange(active_, true);
}

bool CudaQueue::SubmitWaiting() {
  if (submitting_) return false;  // Who submits goes on with what has come meanwhile.
  submitting_ = true;
  return SubmitItems(Wait::kNo);
}

bool CudaQueue::SubmitItems(Wait wait) {
  bool moved = false;
  // The thread that may wait is for all queues, and leaves what comes meanwhile to Advance.
  std::size_t left = wait == Wait::kYes ? items_.size() - submitted_ : items_.max_size();
  for (; submitted_ < items_.size() && left > 0; --left) {
    Item& item = items_[submitted_];
    const bool idle = submitted_ == 0;
    Submitted submitted = Submitted::kNothing;
    {
      MutexUnlock unlock(mutex_);
      submitted = SubmitItem(item, idle, std::exchange(wait, Wait::kNo));
    }
    if (submitted == Submitted::kHasToWait) {
      parts_.submissions.Add([self = shared_from_this()] {
        MutexLock lock(self->mutex_);
        self->SubmitItems(Wait::kYes);
      });
      return moved;
    }
    if (submitted != Submitted::kNothing) moved = true;
    if (submitted != Submitted::kAll) break;
    ++submitted_;
  }
  submitting_ = false;
  return moved;
}

CudaQueue::Submitted CudaQueue::SubmitItem(Item& item, bool idle, Wait wait) {
  if (parts_.health.lost()) {
    item.status = parts_.health.status();
    return Submitted::kAll;
  }
  if (item.start == nullptr) {
    // What the first attempt had goes back to the pool in the stream's order.
    workspace_.End(std::exchange(item.resources.workspace_bytes, 0));
    const absl::Status started = StartItem(item, idle, wait);
    if (HasToWait(started)) {
      item.start = nullptr;
      return Submitted::kHasToWait;
    }
    if (!started.ok()) Fail(item, started);
  }
  if (item.status.ok() && item.staged != nullptr) {
    const DriverResult<bool> stepped = item.staged->Step(stream_);
    if (!stepped.ok()) {
      Fail(item, stepped.status);
    } else if (!item.staged->all_submitted()) {
      return stepped.value ? Submitted::kSome : Submitted::kNothing;
    }
  }
  EndItem(item);  // Also behind a failure, since part of the work may run.
  return Submitted::kAll;
}

absl::Status CudaQueue::StartItem(Item& item, bool idle, Wait wait) {
  Driver& driver = parts_.driver;
  const std::uint64_t seen = seen_memory_;
  ACCELD_RETURN_IF_ERROR(ToStatus(parts_.memory.OrderBehind(stream_, seen_memory_), driver.info()));
  const CudaProgram* program = nullptr;
  std::shared_ptr<const Graph> graph;
  if (const auto* made = std::get_if<const DeviceProgram*>(item.work)) {
    program = static_cast<const CudaProgram*>(*made);
    graph = wait == Wait::kYes ? parts_.graphs.Get(*program, stream_, item.resources)
                               : parts_.graphs.Find(*program, item.resources);
    if (graph == nullptr && wait == Wait::kNo) return HasToWait();
  }
  // In a busy stream, work starts when the work before it ends.
  item.start = last_end_;
  item.starts = Starts::kWithEndBefore;
  if (idle || item.start == nullptr) {
    DriverResult<EventPool::Event> start = parts_.events.Record(stream_);
    if (!start.ok()) return ToStatus(start.status, driver.info());
    item.start = std::move(start.value);
    item.starts = idle && seen == seen_memory_ ? Starts::kAtOnce : Starts::kLater;
    item.submitted = std::chrono::steady_clock::now();
  }
  if (program != nullptr) return SubmitProgram(*program, std::move(graph), item, wait);
  if (const Op* op = std::get_if<Op>(item.work)) return SubmitOp(*op, item, wait);
  if (const auto* copy = std::get_if<HostToDevice>(item.work)) return SubmitCopy(*copy, item);
  return SubmitCopy(std::get<DeviceToHost>(*item.work), item);
}

absl::Status CudaQueue::SubmitOp(const Op& op, Item& item, Wait wait) {
  CudaContext context(parts_.driver, stream_, parts_.plans, parts_.pinned, &workspace_,
                      item.resources, wait);
  return RunOp(op, context);
}

absl::Status CudaQueue::SubmitNextOp(const Op& op, Item& item) {
  // The workspace of those before is back when it runs.
  const std::uint64_t before = std::exchange(item.resources.workspace_bytes, 0);
  const absl::Status submitted = SubmitOp(op, item, Wait::kYes);
  std::uint64_t& most = item.resources.workspace_bytes;
  workspace_.End(std::min(before, most));
  most = std::max(before, most);
  return submitted;
}

absl::Status CudaQueue::SubmitProgram(const CudaProgram& program,
                                      std::shared_ptr<const Graph> graph, Item& item, Wait wait) {
  if (graph == nullptr) {
    for (const Op& op : program.ops()) ACCELD_RETURN_IF_ERROR(SubmitNextOp(op, item));
    return absl::OkStatus();
  }
  const DriverStatus launched = graph->Launch(stream_);
  if (launched.code == DriverCode::kOutOfMemory && wait == Wait::kNo) return HasToWait();
  if (launched.ok()) parts_.graphs.Keep(program, std::move(graph));
  return ToStatus(launched, parts_.driver.info());
}

template <typename HostOrDeviceCopy>
absl::Status CudaQueue::SubmitCopy(const HostOrDeviceCopy& copy, Item& item) {
  if (copy.bytes == 0) return absl::OkStatus();
  constexpr bool kToDevice = std::is_same_v<HostOrDeviceCopy, HostToDevice>;
  const std::byte* const host = kToDevice ? copy.source : copy.target;
  Driver& driver = parts_.driver;
  if (!parts_.pinned_ranges.Contains(host, copy.bytes)) {
    item.staged = std::make_unique<StagedCopy>(driver, parts_.pinned, parts_.events, copy);
    return absl::OkStatus();
  }
  DriverStatus copied;
  if constexpr (kToDevice) {
    copied = driver.CopyToDevice(stream_, copy.target, copy.source, copy.bytes);
  } else {
    copied = driver.CopyToHost(stream_, copy.target, copy.source, copy.bytes);
  }
  return ToStatus(copied, driver.info());
}

void CudaQueue::EndItem(Item& item) {
  DriverResult<EventPool::Event> end = parts_.events.Record(stream_);
  if (end.ok()) {
    item.end = end.value;
    last_end_ = std::move(end.value);
    return;
  }
  Fail(item, end.status);
  // Without an event nobody would know when the stream uses the item's memory no more.
  const DriverStatus done = LossUnlessOk(parts_.driver.Synchronize(stream_));
  if (!done.ok()) Fail(item, done);
}

bool CudaQueue::LetGo(bool may_wait) {
  // Graphs, whose programs run as well without.
  const bool graphs = parts_.graphs.Clear();
  return (may_wait && parts_.memory.FinishReleases()) || graphs;
}

void CudaQueue::Fail(Item& item, const absl::Status& error) {
  std::string running;
  {
    MutexLock lock(mutex_);
    running = NameOf(*items_.front().work);
  }
  const absl::Status judged = parts_.health.Judge(error, running);
  if (item.status.ok() || GetReason(judged) == reason::kDeviceLost) item.status = judged;
}

void CudaQueue::Fail(Item& item, const DriverStatus& error) {
  Fail(item, ToStatus(error, parts_.driver.info()));
}

CudaQueue::Progress CudaQueue::Advance() {
  MutexLock lock(mutex_);
  bool moved = SubmitWaiting();
  // What comes meanwhile is for the next time, after the other queues.
  for (std::size_t left = submitted_; submitted_ > 0 && left > 0; --left) {
    Item& first = items_.front();
    bool finished = false;
    {
      MutexUnlock unlock(mutex_);
      finished = Finished(first, moved);
    }
    if (!finished) break;
    Item item = std::move(first);
    items_.pop_front();
    --submitted_;
    moved = true;
    MutexUnlock unlock(mutex_);
    Complete(std::move(item));
  }
  if (moved) return Progress::kMoved;
  if (!items_.empty()) return Progress::kWaiting;
  active_ = false;
  return Progress::kIdle;
}

bool CudaQueue::Finished(Item& item, bool& moved) {
  if (parts_.health.lost()) {
    item.status = parts_.health.status();
    return true;
  }
  if (item.end == nullptr) return true;
  if (item.staged != nullptr && item.status.ok() && !item.staged->finished()) {
    const DriverResult<bool> stepped = item.staged->Step(stream_);
    if (!stepped.ok()) {
      Fail(item, stepped.status);
    } else if (!item.staged->finished()) {
      moved = moved || stepped.value;
      return false;
    }
  }
  const DriverStatus done = LossUnlessOk(parts_.driver.Query(*item.end));
  if (done.code == DriverCode::kNotReady) return false;
  if (!done.ok()) Fail(item, done);
  return true;
}

void CudaQueue::Complete(Item item) {
  WorkResult result{.status = std::move(item.status), .finished = std::chrono::steady_clock::now()};
  if (item.start != nullptr && item.end != nullptr && !parts_.health.lost()) {
    const auto elapsed = parts_.driver.Elapsed(*item.start, *item.end);
    if (elapsed.ok()) {
      result.device_time = elapsed.value;
      // By the card's clock, and not when this thread came to look.
      if (item.starts != Starts::kLater) {
        const auto start = item.starts == Starts::kAtOnce ? item.submitted : last_finished_;
        result.finished = std::min(result.finished, start + elapsed.value);
      }
    }
  }
  last_finished_ = result.finished;
  item.staged.reset();
  for (std::byte* block : item.resources.pinned) parts_.pinned.GiveBack(block);
  workspace_.End(item.resources.workspace_bytes);
  item.resources = {};
  item.start = nullptr;
  item.end = nullptr;
  item.done(result);
}

}  // namespace acceld::cuda
