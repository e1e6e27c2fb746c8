// Shares one device among flows, one of each session: work waits here, flow by flow, and goes to
// the device in turns, so that nobody's burst stands in the device's queue in front of the others.
//
// A device that takes several pieces of work at a time, so that it need not wait for the host in
// between, is given as many as are expected to keep it busy for a millisecond. Whoever comes then
// waits for little more than the piece that runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>

#include "backends/core/mutex.h"
#include "backends/device.h"

namespace acceld {

class Scheduler;

// One session's work on a device. Thread-safe.
class Flow final : public WorkSink {
 public:
  // Made by Scheduler::AddFlow.
  explicit Flow(Scheduler& scheduler);

  void Submit(DeviceQueue queue, const Work& work, WorkDone done) override;
  // The device's.
  std::size_t queue_depth() const override;

  // Ends the work that waits, and all that comes later, with kCancelled. Work with the device still
  // finishes.
  void Cancel();

  // What the device has done for this flow so far.
  std::uint64_t ops() const { return ops_; }
  std::chrono::nanoseconds device_time() const {
    return std::chrono::nanoseconds(device_time_ns_.load());
  }

 private:
  friend class Scheduler;

  struct Entry {
    DeviceQueue queue;
    const Work* work;
    WorkDone done;
  };

  Scheduler& scheduler_;
  // Guarded by the scheduler's mutex.
  std::deque<Entry> waiting_;
  bool cancelled_ = false;
  // What its next piece of work is expected to take: of those done, the later ones count more.
  // Until one is done, it goes to the device alone.
  std::atomic<std::chrono::nanoseconds> expected_time_;
  std::atomic<std::uint64_t> ops_{0};
  std::atomic<std::int64_t> device_time_ns_{0};
};

// Thread-safe. No work is submitted once its destructor is called; the device outlives it.
class Scheduler {
 public:
  explicit Scheduler(Device& device)
      : device_(device), depth_(device.queue_depth()), thread_([this] { DispatchRest(); }) {}
  // Waits for the work that was submitted.
  ~Scheduler();

  std::shared_ptr<Flow> AddFlow() { return std::make_shared<Flow>(*this); }

 private:
  friend class Flow;

  // The time that the device's work at a time may be expected to take; one piece may take more.
  static constexpr std::chrono::nanoseconds kWindow = std::chrono::milliseconds(1);
  // How much a thread dispatches before it leaves the rest.
  static constexpr int kMaxRounds = 64;

  void Submit(Flow& flow, Flow::Entry entry);
  void Cancel(Flow& flow);
  bool CanDispatch() const ACCELD_REQUIRES(mutex_);
  // Hands work to the device as far as the window allows. One thread at a time does; one that came
  // with its own work leaves the rest to `thread_` after a while, so that no client's thread works
  // for the others for ever.
  void Dispatch() ACCELD_REQUIRES(mutex_);
  // Hands the next piece of work to the device.
  void DispatchNext() ACCELD_REQUIRES(mutex_);
  void DispatchRest() ACCELD_EXCLUDES(mutex_);
  // What DispatchNext knows of a piece of work when it hands it over.
  struct Dispatched {
    Flow& flow;
    std::uint64_t ops;
    std::chrono::nanoseconds expected_time;
  };
  void OnDone(const Dispatched& piece, WorkDone& done, const WorkResult& result);

  Device& device_;
  // How many pieces of work the device takes at a time.
  const std::size_t depth_;
  Mutex mutex_;
  // Flows with work, in the order of their turns.
  std::deque<Flow*> turns_ ACCELD_GUARDED_BY(mutex_);
  // The work with the device, and what it was expected to take.
  std::size_t in_flight_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::chrono::nanoseconds time_in_flight_ ACCELD_GUARDED_BY(mutex_){0};
  // Whether a thread dispatches, or `thread_` is to go on.
  bool dispatching_ ACCELD_GUARDED_BY(mutex_) = false;
  bool rest_left_ ACCELD_GUARDED_BY(mutex_) = false;
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  // Wakes `thread_` and the destructor.
  CondVar changed_;
  std::thread thread_;
};

}  // namespace acceld
