#include "backends/context/stream_set.h"

#include <utility>

#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

using internal::EventRecord;
using internal::Item;
using internal::Join;
using internal::MarkerItem;
using internal::RecordItem;
using internal::ReplayItem;
using internal::StreamState;
using internal::WaitItem;
using internal::WorkItem;

StreamSet::StreamSet(Device& device, std::shared_ptr<WorkSink> sink, DeviceQueue default_queue,
                     std::size_t max_streams, std::size_t max_events)
    : device_(device), sink_(std::move(sink)), max_streams_(max_streams), max_events_(max_events) {
  auto stream = std::make_unique<StreamState>();
  stream->queue = default_queue;
  MutexLock lock(mutex_);
  streams_.emplace(kDefaultStream, std::move(stream));
}

StreamSet::~StreamSet() {
  // Work with the device holds a reference, so there is none.
  for (const auto& [number, stream] : streams_) device_.DestroyQueue(stream->queue);
  for (const auto& stream : leaving_) device_.DestroyQueue(stream->queue);
}

absl::Status StreamSet::CheckOpen() const { return closed_ ? SessionEnded() : absl::OkStatus(); }

absl::Status StreamSet::Submit(Stream stream, WorkItem work, Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
  Append(*state, std::move(work), std::move(done));
  Pump();
  return absl::OkStatus();
}

absl::Status StreamSet::Submit(Stream stream, std::shared_ptr<internal::Replay> replay,
                               Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
  const std::vector<EventItem>& events = replay->program->events;
  for (const EventItem& each : events) ACCELD_RETURN_IF_ERROR(FindEvent(each.event).status());
  replay->records.reserve(events.size());
  for (const EventItem& each : events) {
    std::shared_ptr<EventRecord>& latest = events_[each.event];
    if (each.records) latest = std::make_shared<EventRecord>();
    replay->records.push_back(latest);
  }
  if (replay->AllHanded()) {
    Complete(std::move(done), absl::OkStatus());
  } else {
    Append(*state, ReplayItem{std::move(replay)}, std::move(done));
  }
  Pump();
  return absl::OkStatus();
}

absl::Status StreamSet::SubmitNothing(Stream stream, Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_RETURN_IF_ERROR(FindStream(stream).status());
  Complete(std::move(done), absl::OkStatus());
  Pump();
  return absl::OkStatus();
}

absl::StatusOr<StreamState*> StreamSet::FindStream(Stream stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return UnknownStream(stream);
  return found->second.get();
}

absl::StatusOr<std::shared_ptr<EventRecord>*> StreamSet::FindEvent(Event event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return UnknownEvent(event);
  return &found->second;
}

absl::Status StreamSet::CheckStream(Stream stream) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  return FindStream(stream).status();
}

absl::Status StreamSet::CheckEvent(Event event) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  return FindEvent(event).status();
}

absl::StatusOr<Stream> StreamSet::CreateStream(const StreamOptions& options, Stream chosen) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    if (chosen != Stream{0}) {
      ACCELD_RETURN_IF_ERROR(stream_numbers_.Claim(static_cast<std::uint64_t>(chosen), "stream"));
    }
    if (streams_.size() + creating_streams_ >= max_streams_) {
      return LimitExceeded("streams", max_streams_);
    }
    ++creating_streams_;
  }
  const absl::StatusOr<DeviceQueue> queue = device_.CreateQueue(options.priority);
  absl::Status open;
  {
    MutexLock lock(mutex_);
    --creating_streams_;
    if (!queue.ok()) return queue.status();
    open = CheckOpen();
    if (open.ok()) {
      auto state = std::make_unique<StreamState>();
      state->queue = *queue;
      const Stream stream = chosen != Stream{0} ? chosen : Stream{stream_numbers_.Take()};
      streams_.emplace(stream, std::move(state));
      return stream;
    }
  }
  device_.DestroyQueue(*queue);
  return open;
}

absl::Status StreamSet::DestroyStream(Stream stream) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  if (stream == kDefaultStream) return DefaultStreamStays();
  ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
  Leave(std::move(streams_[stream]));
  streams_.erase(stream);
  RemoveIfOver(*state);
  Pump();
  return absl::OkStatus();
}

absl::StatusOr<Event> StreamSet::CreateEvent(Event chosen) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  if (chosen != Event{0}) {
    ACCELD_RETURN_IF_ERROR(event_numbers_.Claim(static_cast<std::uint64_t>(chosen), "event"));
  }
  if (events_.size() >= max_events_) return LimitExceeded("events", max_events_);
  const Event event = chosen != Event{0} ? chosen : Event{event_numbers_.Take()};
  events_.emplace(event, nullptr);
  return event;
}

absl::Status StreamSet::DestroyEvent(Event event) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_RETURN_IF_ERROR(FindEvent(event).status());
  events_.erase(event);
  return absl::OkStatus();
}

absl::Status StreamSet::RecordEvent(Event event, Stream stream, Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(event));
  *latest = std::make_shared<EventRecord>();
  Append(*state, RecordItem{.record = *latest, .submitted = std::chrono::steady_clock::now()},
         std::move(done));
  Pump();
  return absl::OkStatus();
}

absl::Status StreamSet::WaitEvent(Stream stream, Event event, Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(event));
  if (*latest == nullptr) {
    Complete(std::move(done), absl::OkStatus());
  } else {
    Append(*state, WaitItem{*latest}, std::move(done));
  }
  Pump();
  return absl::OkStatus();
}

absl::StatusOr<bool> StreamSet::QueryEvent(Event event) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(event));
  if (*latest == nullptr) return true;
  if (!(*latest)->reached) return false;
  ACCELD_RETURN_IF_ERROR((*latest)->error.status);
  return true;
}

absl::Status StreamSet::SynchronizeEvent(Event event, Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(event));
  if (*latest == nullptr) {
    Complete(std::move(done), absl::OkStatus());
  } else if ((*latest)->reached) {
    Complete(std::move(done), (*latest)->error.status);
  } else {
    (*latest)->waiting_hosts.push_back(std::move(done));
  }
  Pump();
  return absl::OkStatus();
}

absl::StatusOr<std::chrono::nanoseconds> StreamSet::ElapsedTime(Event start, Event stop) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  const EventRecord* records[2];
  const Event events[2] = {start, stop};
  for (int i = 0; i < 2; ++i) {
    ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(events[i]));
    if (*latest == nullptr) {
      return InvalidArgument(fmt::format("Event {} was never recorded, so no time has elapsed.",
                                         static_cast<std::uint64_t>(events[i])));
    }
    records[i] = latest->get();
  }
  for (int i = 0; i < 2; ++i) {
    if (!records[i]->reached) {
      return NotInitialized(fmt::format("Event {} is not reached yet; synchronize with it first.",
                                        static_cast<std::uint64_t>(events[i])),
                            reason::kEventPending);
    }
  }
  ACCELD_RETURN_IF_ERROR(records[0]->error.status);
  ACCELD_RETURN_IF_ERROR(records[1]->error.status);
  return records[1]->time - records[0]->time;
}

absl::Status StreamSet::SynchronizeStream(Stream stream, Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
  Append(*state, MarkerItem{}, std::move(done));
  Pump();
  return absl::OkStatus();
}

absl::Status StreamSet::Synchronize(Done&& done) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  auto join = std::make_shared<Join>();
  join->earliest = std::exchange(left_error_, {});
  join->done = std::move(done);
  const auto add = [&](StreamState& stream) ACCELD_REQUIRES(mutex_) {
    if (stream.items.empty() && !stream.error) return;
    ++join->remaining;
    Append(stream, MarkerItem{join}, nullptr);
  };
  for (const auto& [number, stream] : streams_) add(*stream);
  for (const auto& stream : leaving_) add(*stream);
  if (join->remaining == 0) Complete(std::move(join->done), join->earliest.status);
  Pump();
  return absl::OkStatus();
}

void StreamSet::WaitForRoom(std::size_t limit) {
  if (unfinished_.load(std::memory_order_relaxed) < limit) return;
  MutexLock lock(mutex_);
  while (true) {
    ++room_waiters_;
    room_.Wait(mutex_,
               [&]() ACCELD_REQUIRES(mutex_) { return unfinished_ < limit || pump_wanted_; });
    --room_waiters_;
    if (!pump_wanted_) return;
    Pump();
  }
}

void StreamSet::Close() {
  MutexLock lock(mutex_);
  if (closed_) return;
  closed_ = true;
  events_.clear();
  for (auto& [number, stream] : streams_) Leave(std::move(stream));
  streams_.clear();
  const absl::Status ended = SessionCancelled();
  for (const auto& stream : leaving_) {
    CancelAll(*stream, ended);
    MarkReady(*stream);
  }
  if (room_waiters_ > 0) room_.NotifyAll();
  Pump();
}

}  // namespace acceld
