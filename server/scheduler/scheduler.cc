#include "server/scheduler/scheduler.h"

#include <algorithm>

#include "backends/context/handle_errors.h"

namespace acceld {
namespace {

void EndCancelled(WorkDone& done) {
  done({.status = SessionCancelled(), .finished = std::chrono::steady_clock::now()});
}

std::uint64_t OpsIn(const Work& work) {
  if (const auto* program = std::get_if<const DeviceProgram*>(&work))
    return (*program)->ops().size();
  return std::holds_alternative<Op>(work) ? 1 : 0;
}

}  // namespace

Flow::Flow(Scheduler& scheduler) : scheduler_(scheduler), expected_time_(Scheduler::kWindow) {}

std::size_t Flow::queue_depth() const { return scheduler_.depth_; }

void Flow::Submit(DeviceQueue queue, const Work& work, WorkDone done) {
  scheduler_.Submit(*this, {queue, &work, std::move(done)});
}

void Flow::Cancel() { scheduler_.Cancel(*this); }

Scheduler::~Scheduler() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void Scheduler::Submit(Flow& flow, Flow::Entry entry) {
  {
    MutexLock lock(mutex_);
    if (!flow.cancelled_) {
      if (flow.waiting_.empty()) turns_.push_back(&flow);
      flow.waiting_.push_back(std::move(entry));
      return Dispatch();
    }
  }
  EndCancelled(entry.done);
}

void Scheduler::Cancel(Flow& flow) {
  std::deque<Flow::Entry> cancelled;
  {
    MutexLock lock(mutex_);
    flow.cancelled_ = true;
    std::swap(cancelled, flow.waiting_);
    std::erase(turns_, &flow);
  }
  for (Flow::Entry& entry : cancelled) EndCancelled(entry.done);
}

bool Scheduler::CanDispatch() const {
  if (turns_.empty()) return false;
  if (in_flight_ == 0) return true;
  return in_flight_ < depth_ && time_in_flight_ + turns_.front()->expected_time_.load() <= kWindow;
}

void Scheduler::Dispatch() {
  if (dispatching_) return;
  dispatching_ = true;
  for (int round = 0; round < kMaxRounds && CanDispatch(); ++round) DispatchNext();
  rest_left_ = CanDispatch();
  dispatching_ = rest_left_;
  if (rest_left_ || stopping_) changed_.NotifyAll();
}

void Scheduler::DispatchRest() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_, [this]() ACCELD_REQUIRES(mutex_) {
      return rest_left_ || (stopping_ && !dispatching_ && in_flight_ == 0);
    });
    if (!rest_left_) return;
    rest_left_ = false;
    while (CanDispatch()) DispatchNext();
    dispatching_ = false;
  }
}

void Scheduler::DispatchNext() {
  Flow& flow = *turns_.front();
  turns_.pop_front();
  Flow::Entry entry = std::move(flow.waiting_.front());
  flow.waiting_.pop_front();
  if (!flow.waiting_.empty()) turns_.push_back(&flow);
  const Dispatched piece{flow, OpsIn(*entry.work), flow.expected_time_};
  ++in_flight_;
  time_in_flight_ += piece.expected_time;
  MutexUnlock unlock(mutex_);
  // The work's owner keeps the flow until its callback returns.
  device_.Submit(entry.queue, *entry.work,
                 [this, piece, done = std::move(entry.done)](const WorkResult& result) mutable {
                   OnDone(piece, done, result);
                 });
}

void Scheduler::OnDone(const Dispatched& piece, WorkDone& done, const WorkResult& result) {
  Flow& flow = piece.flow;
  flow.ops_ += piece.ops;
  flow.device_time_ns_ += result.device_time.count();
  const std::chrono::nanoseconds expected = flow.expected_time_;
  flow.expected_time_ = expected + (result.device_time - expected) / 4;
  // The session's next work joins its flow before the next turn is given.
  done(result);
  MutexLock lock(mutex_);
  --in_flight_;
  time_in_flight_ -= piece.expected_time;
  Dispatch();
  // Nothing is touched once the lock is released: the scheduler may be destroyed then.
  if (stopping_) changed_.NotifyAll();
}

}  // namespace acceld
