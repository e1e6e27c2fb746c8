#include "backends/context/device_context.h"

#include <algorithm>
#include <utility>

#include "backends/core/status.h"
#include "backends/ops/check_op.h"
#include "fmt/format.h"

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

// How many chosen addresses of failed allocations are kept beyond the limit of allocations.
constexpr std::size_t kFailuresBeyondLimit = 4096;

// How much one thread does in Pump before it leaves the rest to one that waits for room.
constexpr int kMaxPumpRounds = 1024;

absl::Status LimitExceeded(std::string_view what, std::size_t limit) {
  return OutOfMemory(fmt::format("There are {} {} already, the most a client may have at a time; "
                                 "destroy one first.",
                                 limit, what),
                     reason::kLimitExceeded);
}

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceContext>> DeviceContext::Create(
    Device& device, std::shared_ptr<WorkSink> sink, const ContextLimits& limits,
    std::shared_ptr<MemoryAccount> memory) {
  ACCELD_ASSIGN_OR_RETURN(const DeviceQueue queue, device.CreateQueue(0));
  auto context = std::shared_ptr<DeviceContext>(
      new DeviceContext(device, std::move(sink), limits, std::move(memory)));
  auto stream = std::make_unique<StreamState>();
  stream->queue = queue;
  MutexLock lock(context->mutex_);
  context->streams_.emplace(kDefaultStream, std::move(stream));
  return context;
}

DeviceContext::DeviceContext(Device& device, std::shared_ptr<WorkSink> sink,
                             const ContextLimits& limits, std::shared_ptr<MemoryAccount> memory)
    : device_(device),
      sink_(std::move(sink)),
      supported_ops_(device.supported_ops()),
      limits_(limits),
      memory_(std::move(memory)) {}

DeviceContext::~DeviceContext() {
  // Work with the device holds a reference, so there is none.
  for (const auto& [number, stream] : streams_) device_.DestroyQueue(stream->queue);
  for (const auto& stream : leaving_) device_.DestroyQueue(stream->queue);
}

absl::Status DeviceContext::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return NotInitialized("The session has ended.", reason::kSessionEnded);
}

// ---- Memory ----

absl::StatusOr<std::byte*> DeviceContext::AllocateOnDevice(std::uint64_t bytes,
                                                           const AllocOptions& options) {
  if (options.mappable) return UnsupportedError("The backend has no mappable memory.");
  if (bytes == 0) return InvalidArgument("Alloc of 0 bytes: an allocation has at least 1 byte.");
  return device_.Allocate(bytes, MemoryOptions{});
}

absl::Status DeviceContext::Claim(Address chosen, std::uint64_t bytes) {
  absl::Status claimed = client_addresses_.Claim(chosen, bytes);
  // The address is good and only the size is not, so the address stands for the failure.
  if (absl::IsResourceExhausted(claimed) && client_addresses_.Claim(chosen, 1).ok()) {
    return FailAlloc(chosen, 1, std::move(claimed));
  }
  return claimed;
}

absl::Status DeviceContext::FailAlloc(Address chosen, std::uint64_t bytes, absl::Status error) {
  if (chosen != 0 && !closed_ && addresses_.size() < limits_.allocations + kFailuresBeyondLimit) {
    addresses_.Insert(std::make_shared<Allocation>(chosen, bytes, error));
  }
  return error;
}

absl::StatusOr<Address> DeviceContext::Alloc(std::uint64_t bytes, const AllocOptions& options,
                                             Address chosen) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    if (chosen != 0) ACCELD_RETURN_IF_ERROR(Claim(chosen, bytes));
    if (bytes > 0 && addresses_.size() + allocating_ >= limits_.allocations) {
      return FailAlloc(chosen, bytes, LimitExceeded("allocations", limits_.allocations));
    }
    ++allocating_;
  }
  // Allocating may take long, so it holds no lock.
  const absl::StatusOr<std::byte*> data = AllocateOnDevice(bytes, options);
  std::shared_ptr<const Allocation> allocation;  // Outlives the lock: releasing takes time.
  MutexLock lock(mutex_);
  --allocating_;
  if (!data.ok()) return FailAlloc(chosen, bytes, data.status());
  memory_->Add(bytes);
  absl::StatusOr<Address> base = chosen;
  if (closed_) {
    base = CheckOpen();
  } else if (chosen == 0) {
    base = server_addresses_.Take(bytes);
  }
  allocation = std::make_shared<Allocation>(
      base.value_or(0), bytes, *data, [device = &device_, memory = memory_, data = *data, bytes] {
        device->Release(data, bytes);
        memory->Remove(bytes);
      });
  if (base.ok()) addresses_.Insert(std::move(allocation));
  return base;
}

absl::Status DeviceContext::Free(Address address) {
  std::shared_ptr<const Allocation> allocation;  // Outlives the lock: releasing takes time.
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(allocation, addresses_.Remove(address));
  return absl::OkStatus();
}

absl::Status DeviceContext::CheckRange(Address address, std::uint64_t bytes,
                                       std::string_view what) const {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  return bytes == 0 ? absl::OkStatus() : addresses_.Find(address, bytes, what).status();
}

// ---- Work ----

absl::Status DeviceContext::Run(Op op, Stream stream, Done&& done) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(CheckedOp checked, CheckOp(op, supported_ops_, addresses_));
    ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
    if (checked.nothing_to_do) {
      Complete(std::move(done), absl::OkStatus());
    } else {
      TranslateAddresses(op, checked);
      Append(*state, WorkItem{.work = std::move(op), .operands = std::move(checked)},
             std::move(done));
    }
  }
  Pump();
  return absl::OkStatus();
}

absl::Status DeviceContext::Copy(Address address, std::uint64_t bytes, std::string_view what,
                                 Stream stream, absl::FunctionRef<Work(std::byte*)> work,
                                 bool takes_error, std::shared_ptr<const void> host, Done&& done) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
    if (bytes == 0) {
      Complete(std::move(done), absl::OkStatus());
    } else {
      ACCELD_ASSIGN_OR_RETURN(auto allocation, addresses_.Find(address, bytes, what));
      WorkItem item{.work = work(allocation->DataAt(address)),
                    .host = std::move(host),
                    .takes_error = takes_error};
      item.operands.allocations.push_back(std::move(allocation));
      Append(*state, std::move(item), std::move(done));
    }
  }
  Pump();
  return absl::OkStatus();
}

absl::Status DeviceContext::Write(Address target, absl::Span<const std::byte> source, Stream stream,
                                  std::shared_ptr<const void> host, Done&& done) {
  const auto work = [source](std::byte* data) -> Work {
    return HostToDevice{.target = data, .source = source.data(), .bytes = source.size()};
  };
  return Copy(target, source.size(), "The target of a copy to the device", stream, work, false,
              std::move(host), std::move(done));
}

absl::Status DeviceContext::Read(absl::Span<std::byte> target, Address source, Stream stream,
                                 bool takes_error, std::shared_ptr<const void> host, Done&& done) {
  const auto work = [target](std::byte* data) -> Work {
    return DeviceToHost{.target = target.data(), .source = data, .bytes = target.size()};
  };
  return Copy(source, target.size(), "The source of a copy from the device", stream, work,
              takes_error, std::move(host), std::move(done));
}

// ---- Streams and events ----

absl::StatusOr<StreamState*> DeviceContext::FindStream(Stream stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    return InvalidArgument(
        fmt::format("Stream {} does not exist.", static_cast<std::uint64_t>(stream)),
        reason::kUnknownStream);
  }
  return found->second.get();
}

absl::StatusOr<std::shared_ptr<EventRecord>*> DeviceContext::FindEvent(Event event) {
  const auto found = events_.find(event);
  if (found == events_.end()) {
    return InvalidArgument(
        fmt::format("Event {} does not exist.", static_cast<std::uint64_t>(event)),
        reason::kUnknownEvent);
  }
  return &found->second;
}

absl::StatusOr<Stream> DeviceContext::CreateStream(const StreamOptions& options, Stream chosen) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    if (chosen != Stream{0}) {
      ACCELD_RETURN_IF_ERROR(stream_numbers_.Claim(static_cast<std::uint64_t>(chosen), "stream"));
    }
    if (streams_.size() + creating_streams_ >= limits_.streams) {
      return LimitExceeded("streams", limits_.streams);
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

absl::Status DeviceContext::DestroyStream(Stream stream) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    if (stream == kDefaultStream) return InvalidArgument("The default stream cannot be destroyed.");
    ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
    Leave(std::move(streams_[stream]));
    streams_.erase(stream);
    RemoveIfOver(*state);
  }
  Pump();
  return absl::OkStatus();
}

absl::StatusOr<Event> DeviceContext::CreateEvent(Event chosen) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  if (chosen != Event{0}) {
    ACCELD_RETURN_IF_ERROR(event_numbers_.Claim(static_cast<std::uint64_t>(chosen), "event"));
  }
  if (events_.size() >= limits_.events) return LimitExceeded("events", limits_.events);
  const Event event = chosen != Event{0} ? chosen : Event{event_numbers_.Take()};
  events_.emplace(event, nullptr);
  return event;
}

absl::Status DeviceContext::DestroyEvent(Event event) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_RETURN_IF_ERROR(FindEvent(event).status());
  events_.erase(event);
  return absl::OkStatus();
}

absl::Status DeviceContext::RecordEvent(Event event, Stream stream, Done&& done) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
    ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(event));
    *latest = std::make_shared<EventRecord>();
    Append(*state, RecordItem{*latest}, std::move(done));
  }
  Pump();
  return absl::OkStatus();
}

absl::Status DeviceContext::WaitEvent(Stream stream, Event event, Done&& done) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
    ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(event));
    if (*latest == nullptr) {
      Complete(std::move(done), absl::OkStatus());
    } else {
      Append(*state, WaitItem{*latest}, std::move(done));
    }
  }
  Pump();
  return absl::OkStatus();
}

absl::StatusOr<bool> DeviceContext::QueryEvent(Event event) {
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckOpen());
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<EventRecord> * latest, FindEvent(event));
  if (*latest == nullptr) return true;
  if (!(*latest)->reached) return false;
  ACCELD_RETURN_IF_ERROR((*latest)->error.status);
  return true;
}

absl::Status DeviceContext::SynchronizeEvent(Event event, Done&& done) {
  {
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
  }
  Pump();
  return absl::OkStatus();
}

absl::StatusOr<std::chrono::nanoseconds> DeviceContext::ElapsedTime(Event start, Event stop) {
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

absl::Status DeviceContext::SynchronizeStream(Stream stream, Done&& done) {
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckOpen());
    ACCELD_ASSIGN_OR_RETURN(StreamState * state, FindStream(stream));
    Append(*state, MarkerItem{}, std::move(done));
  }
  Pump();
  return absl::OkStatus();
}

absl::Status DeviceContext::Synchronize(Done&& done) {
  {
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
  }
  Pump();
  return absl::OkStatus();
}

// ---- Life ----

void DeviceContext::WaitForRoom(std::size_t limit) {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!pump_wanted_) {
        if (unfinished_ < limit) return;
        ++room_waiters_;
        room_.Wait(mutex_,
                   [&]() ACCELD_REQUIRES(mutex_) { return unfinished_ < limit || pump_wanted_; });
        --room_waiters_;
      }
      if (!pump_wanted_) return;
    }
    Pump();
  }
}

void DeviceContext::Close() {
  {
    AddressSpace addresses;  // Outlives the lock: releasing takes time.
    MutexLock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    std::swap(addresses, addresses_);
    events_.clear();
    for (auto& [number, stream] : streams_) Leave(std::move(stream));
    streams_.clear();
    const absl::Status ended = absl::CancelledError("The session has ended.");
    for (const auto& stream : leaving_) {
      for (std::size_t i = stream->in_flight; i < stream->items.size(); ++i) {
        Cancel(stream->items[i], ended);
      }
      while (stream->items.size() > stream->in_flight) stream->items.pop_back();
      MarkReady(*stream);
    }
    if (room_waiters_ > 0) room_.NotifyAll();
  }
  Pump();
}

// ---- Running ----

void DeviceContext::Append(StreamState& stream, decltype(Item::action) action, Done done) {
  stream.items.push_back({.action = std::move(action),
                          .done = std::move(done),
                          .submission = ++submissions_,
                          .context = {}});
  ++unfinished_;
  if (!stream.parked) MarkReady(stream);
}

void DeviceContext::MarkReady(StreamState& stream) {
  if (stream.ready) return;
  stream.ready = true;
  ready_.push_back(&stream);
}

void DeviceContext::Complete(Done done, absl::Status status) {
  if (done) finished_.push_back({.done = std::move(done), .status = std::move(status)});
}

void DeviceContext::Finish(Item& item, absl::Status status) {
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

void DeviceContext::Cancel(Item& item, const absl::Status& status) {
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

void DeviceContext::FinishFront(StreamState& stream, absl::Status status) {
  Finish(stream.items.front(), std::move(status));
  stream.items.pop_front();
  if (room_waiters_ > 0) room_.NotifyAll();
}

bool DeviceContext::CallBack() {
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

void DeviceContext::Pump() {
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
      item->context = shared_from_this();
      ++stream.in_flight;
      MarkReady(stream);  // The device may take more than one.
      MutexUnlock unlock(mutex_);
      sink_->Submit(stream.queue, std::get<WorkItem>(item->action).work,
                    [&stream, item](const WorkResult& result) {
                      item->context->OnWorkDone(stream, *item, result);
                    });
    } else {
      RemoveIfOver(stream);
    }
  }
  pumping_ = false;
}

Item* DeviceContext::Advance(StreamState& stream) {
  stream.parked = false;
  while (stream.items.size() > stream.in_flight) {
    Item& item = stream.items[stream.in_flight];
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

bool DeviceContext::AdvanceControl(StreamState& stream, Item& item) {
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

void DeviceContext::Reach(EventRecord& record, const StreamError& error) {
  record.reached = true;
  record.error = error;
  record.time = std::chrono::steady_clock::now();
  for (StreamState* waiting : std::exchange(record.waiting_streams, {})) MarkReady(*waiting);
  for (Done& done : std::exchange(record.waiting_hosts, {})) {
    Complete(std::move(done), error.status);
  }
}

void DeviceContext::OnWorkDone(StreamState& stream, Item& item, const WorkResult& result) {
  // Keeps the context until the lock is released.
  const std::shared_ptr<DeviceContext> self = std::move(item.context);
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

void DeviceContext::Leave(std::unique_ptr<StreamState> stream) {
  stream->destroyed = true;
  leaving_.push_back(std::move(stream));
}

void DeviceContext::RemoveIfOver(StreamState& stream) {
  if (!stream.destroyed || stream.ready || !stream.items.empty()) return;
  TakeEarlier(left_error_, std::move(stream.error));
  old_queues_.push_back(stream.queue);
  std::erase_if(leaving_, [&](const auto& leaving) { return leaving.get() == &stream; });
}

void DeviceContext::TakeEarlier(StreamError& earliest, StreamError error) {
  if (error && (!earliest || error.submission < earliest.submission)) earliest = std::move(error);
}

}  // namespace acceld
