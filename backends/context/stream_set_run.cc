// How a StreamSet's items are carried out.

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/context/stream_set.h"

namespace acceld {

using internal::EventRecord;
using internal::Finished;
using internal::Item;
using internal::Join;
using internal::MarkerItem;
using internal::RecordItem;
using internal::StreamError;
using internal::StreamState;
using internal::WaitItem;
using internal::WorkItem;

namespace {

// How much one thread does in Pump before it leaves the rest to one that waits for room.
constexpr int kMaxPumpRounds = 1024;

}  // namespace

void StreamSet::Append(StreamState& stream, decltype(Item::action) action, Done done) {
  stream.items.push_back({.action = std::move(action),
                          .done = std::move(done),
                          .submission = ++submissions_,
                          .streams = {}});
  ++unfinished_;
  if (!stream.parked) MarkReady(stream);
}

void StreamSet::MarkReady(StreamState& stream) {
  if (stream.ready) return;
  stream.ready = true;
  ready_.push_back(&stream);
}

void StreamSet::Complete(Done done, absl::Status status) {
  if (done) finished_.push_back({.done = std::move(done), .status = std::move(status)});
}

void StreamSet::Finish(Item& item, absl::Status status) {
  --unfinished_;
  Finished finished{.done = std::move(item.done), .status = std::move(status)};
  if (auto* work = std::get_if<WorkItem>(&item.action)) {
    finished.operands = std::move(work->operands);
    finished.host = std::move(work->host);
  }
  if (finished.done || finished.host || !finished.operands.allocations.empty()) {
    finished_.push_back(std::move(finished));
  }
}

void StreamSet::Cancel(Item& item, const absl::Status& status) {
  if (const auto* record = std::get_if<RecordItem>(&item.action)) {
    for (Done& done : std::exchange(record->record->waiting_hosts, {})) {
      Complete(std::move(done), status);
    }
  } else if (const auto* marker = std::get_if<MarkerItem>(&item.action)) {
    // The first of a join's markers ends it.
    if (marker->join != nullptr) Complete(std::exchange(marker->join->done, nullptr), status);
  }
  Finish(item, status);
}

void StreamSet::FinishFront(StreamState& stream, absl::Status status) {
  Finish(stream.items.front(), std::move(status));
  stream.items.pop_front();
  if (stream.handed > 0) --stream.handed;
  if (room_waiters_ > 0) room_.NotifyAll();
}

bool StreamSet::CallBack() {
  if (finished_.empty() && old_queues_.empty()) return false;
  auto finished = std::exchange(finished_, {});
  const auto queues = std::exchange(old_queues_, {});
  MutexUnlock unlock(mutex_);
  for (const DeviceQueue queue : queues) device_.DestroyQueue(queue);
  for (Finished& each : finished) {
    // Who hears that the work is done finds its memory returned.
    each.operands = {};
    each.host.reset();
    if (each.done) each.done(std::move(each.status));
  }
  return true;
}

void StreamSet::Pump() {
  MutexLock lock(mutex_);
  if (pumping_) return;
  pumping_ = true;
  pump_wanted_ = false;
  for (int round = 0;; ++round) {
    if (CallBack()) continue;
    if (ready_.empty()) break;
    if (round >= kMaxPumpRounds && room_waiters_ > 0) {
      pump_wanted_ = true;
      room_.NotifyAll();
      break;
    }
    StreamState& stream = *ready_.front();
    ready_.pop_front();
    stream.ready = false;
    if (Item* item = Advance(stream)) {
      item->streams = shared_from_this();
      ++stream.handed;
      ++stream.in_flight;
      MarkReady(stream);  // The device may take more than one.
      MutexUnlock unlock(mutex_);
      sink_->Submit(stream.queue, std::get<WorkItem>(item->action).work,
                    [&stream, item](const WorkResult& result) {
                      item->streams->OnWorkDone(stream, *item, result);
                    });
    } else {
      RemoveIfOver(stream);
    }
  }
  pumping_ = false;
}

Item* StreamSet::Advance(StreamState& stream) {
  stream.parked = false;
  while (stream.items.size() > stream.handed) {
    Item& item = stream.items[stream.handed];
    WorkItem* work = std::get_if<WorkItem>(&item.action);
    if (work != nullptr && !stream.error) {
      return stream.in_flight < sink_->queue_depth() ? &item : nullptr;
    }
    // What else there is waits for the work before it.
    if (stream.in_flight > 0) return nullptr;
    if (work != nullptr) {
      absl::Status skipped = stream.error.status;
      if (work->takes_error) stream.error = {};
      FinishFront(stream, std::move(skipped));
    } else if (!AdvanceControl(stream, item)) {
      stream.parked = true;
      return nullptr;
    }
  }
  return nullptr;
}

bool StreamSet::AdvanceControl(StreamState& stream, Item& item) {
  if (const auto* record = std::get_if<RecordItem>(&item.action)) {
    Reach(*record->record, stream.error);
    FinishFront(stream, absl::OkStatus());
    return true;
  }
  if (const auto* wait = std::get_if<WaitItem>(&item.action)) {
    EventRecord& record = *wait->record;
    if (!record.reached) {
      record.waiting_streams.push_back(&stream);
      return false;
    }
    if (record.error && !stream.error) stream.error = record.error;
    FinishFront(stream, absl::OkStatus());
    return true;
  }
  const std::shared_ptr<Join> join = std::move(std::get<MarkerItem>(item.action).join);
  StreamError error = std::exchange(stream.error, {});
  if (join != nullptr) {
    TakeEarlier(join->earliest, std::move(error));
    if (--join->remaining == 0) Complete(std::move(join->done), join->earliest.status);
    FinishFront(stream, absl::OkStatus());
  } else {
    FinishFront(stream, std::move(error.status));
  }
  return true;
}

void StreamSet::Reach(EventRecord& record, const StreamError& error) {
  record.reached = true;
  record.error = error;
  record.time = std::chrono::steady_clock::now();
  for (StreamState* waiting : std::exchange(record.waiting_streams, {})) MarkReady(*waiting);
  for (Done& done : std::exchange(record.waiting_hosts, {})) {
    Complete(std::move(done), error.status);
  }
}

void StreamSet::OnWorkDone(StreamState& stream, Item& item, const WorkResult& result) {
  // Keeps the context until the lock is released.
  const std::shared_ptr<StreamSet> self = std::move(item.streams);
  WorkItem& work = std::get<WorkItem>(item.action);
  // Nobody else touches an item in flight, so its memory returns before the lock is taken, and
  // before anybody hears that the work is done.
  work.operands = {};
  work.host.reset();
  {
    MutexLock lock(mutex_);
    --stream.in_flight;
    if (!result.status.ok() && !stream.error) stream.error = {result.status, item.submission};
    // A device that takes much at a time has this behind an error that it met meanwhile.
    absl::Status status = stream.error.status;
    if (work.takes_error) stream.error = {};
    FinishFront(stream, std::move(status));
    MarkReady(stream);
  }
  Pump();
}

void StreamSet::Leave(std::unique_ptr<StreamState> stream) {
  stream->destroyed = true;
  leaving_.push_back(std::move(stream));
}

void StreamSet::RemoveIfOver(StreamState& stream) {
  if (!stream.destroyed || stream.ready || !stream.items.empty()) return;
  TakeEarlier(left_error_, std::move(stream.error));
  old_queues_.push_back(stream.queue);
  std::erase_if(leaving_, [&](const auto& leaving) { return leaving.get() == &stream; });
}

void StreamSet::TakeEarlier(StreamError& earliest, StreamError error) {
  if (error && (!earliest || error.submission < earliest.submission)) earliest = std::move(error);
}

}  // namespace acceld
