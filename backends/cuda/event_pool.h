// Events of the driver, used again: one marks the end of each piece of work.
#pragma once

#include <memory>
#include <vector>

#include "backends/core/mutex.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// Thread-safe.
class EventPool {
 public:
  // Goes back to the pool with its last owner.
  using Event = std::shared_ptr<const EventHandle>;

  // `driver` outlives the pool, and the pool its events.
  explicit EventPool(Driver& driver) : driver_(driver) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  // An event that is recorded in `stream` now.
  DriverResult<Event> Record(StreamHandle stream);

 private:
  Driver& driver_;
  Mutex mutex_;
  std::vector<EventHandle> unused_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
