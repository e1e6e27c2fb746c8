// How a StreamSet's items are carried out.

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/context/stream_set.h"

namespace acceld {

using internal::Action;
using internal::EventRecord;
using internal::Finished;
using internal::Item;
using internal::Join;
using internal::MarkerItem;
using internal::ProgramStep;
using internal::RecordItem;
using internal::Replay;
using internal::ReplayItem;
using internal::StreamError;
using internal::StreamState;
using internal::WaitItem;
using internal::WorkItem;

namespace {

// How much one thread does in Pump before it leaves the rest to one that waits for room.
constexpr int kMaxPumpRounds = 1024;

// What comes next of `item`, if that is work for the device.
const Work* NextWork(const Item& item) {
  if (const auto* work = std::get_if<WorkItem>(&item.action)) return &work->pending->work;
  if (const auto* replaying = std::get_if<ReplayItem>(&item.action)) {
    const Replay& replay = *replaying->replay;
    return std::get_if<Work>(&replay.program->steps[replay.next_step]);
  }
  return nullptr;
}

}  // namespace

void StreamSet::Append(StreamState& stream, Action&& action, Done&& done) {
  Item& item = stream.items.emplace_back();
  item.action = std::move(action);
  item.done = std::move(done);
  item.submission = ++submissions_;
  unfinished_.store(unfinished_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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
  unfinished_.store(unfinished_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  const auto* work = std::get_if<WorkItem>(&item.action);
  const bool keeps_memory =
      work != nullptr ? work->pending != nullptr : std::holds_alternative<ReplayItem>(item.action);
  if (!item.done && !keeps_memory) return;
  finished_.push_back({.done = std::move(item.done),
                       .status = std::move(status),
                       .action = std::move(item.action)});
}

void StreamSet::Cancel(EventRecord& record, const absl::Status& status) {
  // These streams may be gone when a record is reached whose place is between work that runs.
  record.waiting_streams.clear();
  for (Done& done : std::exchange(record.waiting_hosts, {})) Complete(std::move(done), status);
}

void StreamSet::CancelRecords(Replay& replay, const absl::Status& status) {
  for (const auto& record : replay.records) {
    if (record != nullptr) Cancel(*record, status);
  }
}

void StreamSet::Cancel(Item& item, const absl::Status& status) {
  if (const auto* record = std::get_if<RecordItem>(&item.action)) {
    Cancel(*record->record, status);
  } else if (const auto* replay = std::get_if<ReplayItem>(&item.action)) {
    CancelRecords(*replay->replay, status);
  } else if (const auto* marker = std::get_if<MarkerItem>(&item.action)) {
    // The first of a join's markers ends it.
    if (marker->join != nullptr) Complete(std::exchange(marker->join->done, nullptr), status);
  }
  Finish(item, status);
}

void StreamSet::CancelAll(StreamState& stream, const absl::Status& status) {
  if (stream.items.size() > stream.handed) {
    const auto* replaying = std::get_if<ReplayItem>(&stream.items[stream.handed].action);
    if (replaying != nullptr && replaying->replay->in_flight > 0) {
      Replay& replay = *replaying->replay;
      CancelRecords(replay, status);
      replay.next_step = replay.program->steps.size();
      replay.cut = status;
      ++stream.handed;
    }
  }
  for (std::size_t i = 0; i < stream.handed; ++i) {
    // It stays in its place, and nobody waits for it.
    Item& item = stream.items[i];
    const auto* record = std::get_if<RecordItem>(&item.action);
    if (record == nullptr) continue;
    Cancel(*record->record, status);
    Complete(std::exchange(item.done, nullptr), status);
  }
  for (std::size_t i = stream.handed; i < stream.items.size(); ++i) Cancel(stream.items[i], status);
  while (stream.items.size() > stream.handed) stream.items.pop_back();
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
    each.action = {};
    if (each.done) each.done(std::move(each.status));
    each.done = nullptr;
  }
  return true;
}

void StreamSet::Pump() {
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
    if (const auto [item, work] = Advance(stream); work != nullptr) {
      if (item->streams == nullptr) item->streams = shared_from_this();
      CountHanded(stream, *item);
      MarkReady(stream);  // The device may take more than one.
      MutexUnlock unlock(mutex_);
      sink_->Submit(stream.queue, *work, [&stream, item = item](const WorkResult& result) {
        item->streams->OnWorkDone(stream, *item, result);
      });
    } else {
      RemoveIfOver(stream);
    }
  }
  pumping_ = false;
}

StreamSet::Handover StreamSet::Advance(StreamState& stream) {
  stream.parked = false;
  while (stream.items.size() > stream.handed) {
    Item& item = stream.items[stream.handed];
    const Work* work = NextWork(item);
    if (work != nullptr && !stream.error) {
      if (stream.in_flight >= sink_->queue_depth()) return {};
      return {&item, work};
    }
    // What else there is waits for the work before it; a record, but for one within a program, is
    // passed by what is behind it.
    if (stream.in_flight > 0) {
      if (!std::holds_alternative<RecordItem>(item.action)) return {};
      item.over = true;
      ++stream.handed;
      continue;
    }
    if (!AdvanceControl(stream, item)) {
      stream.parked = true;
      return {};
    }
  }
  return {};
}

void StreamSet::CountHanded(StreamState& stream, Item& item) {
  ++stream.in_flight;
  if (const auto* replaying = std::get_if<ReplayItem>(&item.action)) {
    Replay& replay = *replaying->replay;
    ++replay.in_flight;
    ++replay.next_step;
    if (!replay.AllHanded()) return;
  }
  ++stream.handed;
}

bool StreamSet::AdvanceControl(StreamState& stream, Item& item) {
  if (const auto* work = std::get_if<WorkItem>(&item.action)) {
    absl::Status skipped = stream.error.status;
    if (work->takes_error) stream.error = {};
    FinishFront(stream, std::move(skipped));
    return true;
  }
  if (const auto* replay = std::get_if<ReplayItem>(&item.action)) {
    // Of its work so far.
    stream.time = std::max(stream.time, item.over_since);
    if (!AdvanceReplay(stream, *replay->replay)) return false;
    if (replay->replay->AllHanded()) FinishFront(stream, stream.error.status);
    return true;
  }
  if (const auto* record = std::get_if<RecordItem>(&item.action)) {
    Reach(stream, *record->record, record->submitted);
    FinishFront(stream, absl::OkStatus());
    return true;
  }
  if (const auto* wait = std::get_if<WaitItem>(&item.action)) {
    if (!AdvanceWait(stream, *wait->record)) return false;
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

bool StreamSet::AdvanceReplay(StreamState& stream, Replay& replay) {
  if (const auto* event = std::get_if<EventItem>(&replay.program->steps[replay.next_step])) {
    EventRecord* record = replay.records[replay.next_record].get();
    if (event->records) {
      Reach(stream, *record, replay.submitted);
    } else if (record != nullptr && !AdvanceWait(stream, *record)) {
      return false;
    }
    ++replay.next_record;
  }
  ++replay.next_step;
  return true;
}

bool StreamSet::AdvanceWait(StreamState& stream, EventRecord& record) {
  if (!record.reached) {
    record.waiting_streams.push_back(&stream);
    return false;
  }
  if (record.error && !stream.error) stream.error = record.error;
  stream.time = std::max(stream.time, record.time);
  return true;
}

void StreamSet::Reach(StreamState& stream, EventRecord& record,
                      std::chrono::steady_clock::time_point submitted) {
  record.reached = true;
  record.error = stream.error;
  record.time = std::max(stream.time, submitted);
  for (StreamState* waiting : std::exchange(record.waiting_streams, {})) MarkReady(*waiting);
  for (Done& done : std::exchange(record.waiting_hosts, {})) {
    Complete(std::move(done), record.error.status);
  }
}

void StreamSet::TakeError(StreamState& stream, const Item& item) {
  if (!item.status.ok() && !stream.error) stream.error = {item.status, item.submission};
}

void StreamSet::FinishHanded(StreamState& stream) {
  Item& item = stream.items.front();
  if (const auto* record = std::get_if<RecordItem>(&item.action)) {
    Reach(stream, *record->record, record->submitted);
    return FinishFront(stream, absl::OkStatus());
  }
  stream.time = std::max(stream.time, item.over_since);
  TakeError(stream, item);
  if (const auto* replaying = std::get_if<ReplayItem>(&item.action)) {
    const absl::Status cut = replaying->replay->cut;
    return FinishFront(stream, cut.ok() ? stream.error.status : cut);
  }
  // A device that takes much at a time has this behind an error that it met meanwhile.
  absl::Status status = stream.error.status;
  if (std::get<WorkItem>(item.action).takes_error) stream.error = {};
  FinishFront(stream, std::move(status));
}

void StreamSet::OnWorkDone(StreamState& stream, Item& item, const WorkResult& result) {
  auto* work = std::get_if<WorkItem>(&item.action);
  // Keeps the context until the lock is released. Of a replay, more may be in flight.
  const std::shared_ptr<StreamSet> self = work != nullptr ? std::move(item.streams) : item.streams;
  // Nobody else touches an item in flight, so its memory returns before the lock is taken, and
  // before anybody hears that the work is done.
  if (work != nullptr) work->pending.reset();

  MutexLock lock(mutex_);
  --stream.in_flight;
  if (item.status.ok()) item.status = result.status;
  item.over_since = std::max(item.over_since, result.finished);
  // At once, since a replay that is first may have steps left, which are skipped then.
  if (&item == &stream.items.front()) TakeError(stream, item);
  if (work != nullptr) {
    item.over = true;
  } else {
    Replay& replay = *std::get<ReplayItem>(item.action).replay;
    item.over = --replay.in_flight == 0 && replay.AllHanded();
  }
  // Work of one queue starts in order, and what was cancelled before it started ends at once,
  // while what is before it runs.
  while (!stream.items.empty() && stream.items.front().over) FinishHanded(stream);
  MarkReady(stream);
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
