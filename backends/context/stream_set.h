// The streams and events of a context: each stream's items in order, with events and errors as
// ComputeBackend promises. Nothing here waits: what takes time calls `done` when it is finished.
//
// The life of an item: it is appended to its stream. Pump hands the first work of each stream to
// the sink (the device, or the daemon's scheduler) and, when that calls back, the next; what is no
// work for the device (events, synchronizations) it carries out itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/compute_backend.h"
#include "backends/context/handle_range.h"
#include "backends/context/stream_state.h"
#include "backends/core/mutex.h"
#include "backends/device.h"

namespace acceld {

// Thread-safe. `done` callbacks run without a lock, on any thread, in a call or after it; they must
// not block. They are called exactly once where the call returned OK. Where it returned an error
// they are not called, and still the caller's.
class StreamSet : public std::enable_shared_from_this<StreamSet> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~StreamSet();

  // ---- Streams and events; 0 lets the context choose the number ----

  absl::StatusOr<Stream> CreateStream(const StreamOptions& options, Stream chosen = Stream{0});
  absl::Status DestroyStream(Stream stream);
  absl::StatusOr<Event> CreateEvent(Event chosen = Event{0});
  absl::Status DestroyEvent(Event event);
  absl::Status RecordEvent(Event event, Stream stream, Done&& done = nullptr);
  absl::Status WaitEvent(Stream stream, Event event, Done&& done = nullptr);
  absl::StatusOr<bool> QueryEvent(Event event);
  absl::Status SynchronizeEvent(Event event, Done&& done);
  absl::StatusOr<std::chrono::nanoseconds> ElapsedTime(Event start, Event stop);
  absl::Status SynchronizeStream(Stream stream, Done&& done);
  absl::Status Synchronize(Done&& done);

  // Whether they exist.
  absl::Status CheckStream(Stream stream);
  absl::Status CheckEvent(Event event);

  // ---- Life ----

  // Waits until fewer than `limit` items are unfinished, so that no queue grows without bound. May
  // run callbacks meanwhile; not to be called from one.
  void WaitForRoom(std::size_t limit);

  // Drops all work that has not started and ends what waits with kCancelled. Every later call
  // fails.
  void Close();

 protected:
  // The default stream uses `default_queue`. `device` outlives the set.
  StreamSet(Device& device, std::shared_ptr<WorkSink> sink, DeviceQueue default_queue,
            std::size_t max_streams, std::size_t max_events);

  // Appends work to a stream.
  absl::Status Submit(Stream stream, internal::WorkItem work, Done&& done);
  // Appends a replay, whose events are looked up now: its records replace former ones, and its
  // waits are for the latest records before them.
  absl::Status Submit(Stream stream, std::shared_ptr<internal::Replay> replay, Done&& done);
  // For work that turned out to be none: only checks the stream.
  absl::Status SubmitNothing(Stream stream, Done&& done);

 private:
  absl::Status CheckOpen() const ACCELD_REQUIRES(mutex_);
  absl::StatusOr<internal::StreamState*> FindStream(Stream stream) ACCELD_REQUIRES(mutex_);
  absl::StatusOr<std::shared_ptr<internal::EventRecord>*> FindEvent(Event event)
      ACCELD_REQUIRES(mutex_);

  // Appends an item; Pump must follow.
  void Append(internal::StreamState& stream, internal::Action&& action, Done&& done)
      ACCELD_REQUIRES(mutex_);
  void MarkReady(internal::StreamState& stream) ACCELD_REQUIRES(mutex_);
  // Ends an item; its stream then takes it out.
  void Finish(internal::Item& item, absl::Status status) ACCELD_REQUIRES(mutex_);
  // Ends an item that has not started, and whoever waits for it, with `status`.
  void Cancel(internal::Item& item, const absl::Status& status) ACCELD_REQUIRES(mutex_);
  void Cancel(internal::EventRecord& record, const absl::Status& status) ACCELD_REQUIRES(mutex_);
  // What waits for its records ends with `status`.
  void CancelRecords(internal::Replay& replay, const absl::Status& status) ACCELD_REQUIRES(mutex_);
  // Ends what of a stream has not started, also the rest of a replay that has.
  void CancelAll(internal::StreamState& stream, const absl::Status& status) ACCELD_REQUIRES(mutex_);
  // Ends the first item of a stream.
  void FinishFront(internal::StreamState& stream, absl::Status status) ACCELD_REQUIRES(mutex_);
  void Complete(Done done, absl::Status status) ACCELD_REQUIRES(mutex_);

  // Runs callbacks and advances streams until there is nothing left to do, the lock released
  // meanwhile. One thread at a time does; a second one that comes leaves its work to the first. A
  // thread that has done much leaves the rest to one that waits for room, if there is one, so that
  // nobody works for others for ever.
  void Pump() ACCELD_REQUIRES(mutex_);
  // Lets go of what is finished, and calls back; false where there is nothing.
  bool CallBack() ACCELD_REQUIRES(mutex_);
  // Work to hand to the device, and its item; null where there is none.
  struct Handover {
    internal::Item* item = nullptr;
    const Work* work = nullptr;
  };
  // Advances a stream as far as it goes without the device; returns what the device gets, if that
  // comes next.
  Handover Advance(internal::StreamState& stream) ACCELD_REQUIRES(mutex_);
  // Counts what comes next of `item` as with the device.
  static void CountHanded(internal::StreamState& stream, internal::Item& item);
  // Carries out a stream's first item, or the next step of it, which is no work for the device, or
  // is skipped. False where it must wait.
  bool AdvanceControl(internal::StreamState& stream, internal::Item& item) ACCELD_REQUIRES(mutex_);
  bool AdvanceReplay(internal::StreamState& stream, internal::Replay& replay)
      ACCELD_REQUIRES(mutex_);
  // Takes a wait's error. False where it must wait.
  bool AdvanceWait(internal::StreamState& stream, internal::EventRecord& record)
      ACCELD_REQUIRES(mutex_);
  // `record`, submitted then, is what comes next of `stream`.
  void Reach(internal::StreamState& stream, internal::EventRecord& record,
             std::chrono::steady_clock::time_point submitted) ACCELD_REQUIRES(mutex_);
  // The stream has the item's error, unless it had one before.
  static void TakeError(internal::StreamState& stream, const internal::Item& item);
  // Ends a stream's first item, which was handed and is over.
  void FinishHanded(internal::StreamState& stream) ACCELD_REQUIRES(mutex_);
  void OnWorkDone(internal::StreamState& stream, internal::Item& item, const WorkResult& result);
  // Keeps a stream that takes no more work until its items are finished.
  void Leave(std::unique_ptr<internal::StreamState> stream) ACCELD_REQUIRES(mutex_);
  void RemoveIfOver(internal::StreamState& stream) ACCELD_REQUIRES(mutex_);
  static void TakeEarlier(internal::StreamError& earliest, internal::StreamError error);

  Device& device_;
  const std::shared_ptr<WorkSink> sink_;
  const std::size_t max_streams_;
  const std::size_t max_events_;

  mutable Mutex mutex_;
  bool closed_ ACCELD_GUARDED_BY(mutex_) = false;
  // By number. Destroyed streams move to `leaving_` until their items are finished.
  absl::flat_hash_map<Stream, std::unique_ptr<internal::StreamState>> streams_
      ACCELD_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<internal::StreamState>> leaving_ ACCELD_GUARDED_BY(mutex_);
  HandleRange stream_numbers_ ACCELD_GUARDED_BY(mutex_);
  std::size_t creating_streams_ ACCELD_GUARDED_BY(mutex_) = 0;
  // The latest record of each event; null where it was never recorded.
  absl::flat_hash_map<Event, std::shared_ptr<internal::EventRecord>> events_
      ACCELD_GUARDED_BY(mutex_);
  HandleRange event_numbers_ ACCELD_GUARDED_BY(mutex_);
  // The earliest error of streams that are gone, for Synchronize.
  internal::StreamError left_error_ ACCELD_GUARDED_BY(mutex_);

  std::uint64_t submissions_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Written with the lock held, so that who looks for room need not take it.
  std::atomic<std::size_t> unfinished_ = 0;
  std::size_t room_waiters_ ACCELD_GUARDED_BY(mutex_) = 0;
  CondVar room_;
  bool pumping_ ACCELD_GUARDED_BY(mutex_) = false;
  // Whether who waits for room is to pump.
  bool pump_wanted_ ACCELD_GUARDED_BY(mutex_) = false;
  std::deque<internal::StreamState*> ready_ ACCELD_GUARDED_BY(mutex_);
  std::vector<internal::Finished> finished_ ACCELD_GUARDED_BY(mutex_);
  // Of streams that are over.
  std::vector<DeviceQueue> old_queues_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
