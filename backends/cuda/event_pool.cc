#include "backends/cuda/event_pool.h"

#include <utility>

namespace acceld::cuda {

EventPool::~EventPool() {
  for (const EventHandle event : unused_) (void)driver_.DestroyEvent(event);
}

DriverResult<EventPool::Event> EventPool::Record(StreamHandle stream) {
  EventHandle handle{};
  {
    MutexLock lock(mutex_);
    if (!unused_.empty()) {
      handle = unused_.back();
      unused_.pop_back();
    }
  }
  if (handle == EventHandle{}) {
    DriverResult<EventHandle> created = driver_.CreateEvent();
    if (!created.ok()) return {.status = std::move(created.status)};
    handle = created.value;
  }
  Event event(new EventHandle(handle), [this](const EventHandle* gone) {
    MutexLock lock(mutex_);
    unused_.push_back(*gone);
    delete gone;
  });
  if (DriverStatus recorded = driver_.Record(handle, stream); !recorded.ok()) {
    return {.status = std::move(recorded)};
  }
  return {.value = std::move(event)};
}

}  // namespace acceld::cuda
