// One copy made of several commands: it is done when all have answered.
#pragma once

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "backends/core/mutex.h"
#include "client/command_channel.h"

namespace acceld {

// Thread-safe.
class CopyJoin {
 public:
  CopyJoin(std::size_t commands, CommandChannel::CopyDone done)
      : unfinished_(commands), done_(std::move(done)) {}

  // One of the commands has answered. The last one calls `done`, with the first error.
  void Take(absl::Status status) {
    {
      MutexLock lock(mutex_);
      if (status_.ok()) status_ = std::move(status);
      if (--unfinished_ > 0) return;
      status = status_;
    }
    done_(std::move(status));
  }

 private:
  Mutex mutex_;
  std::size_t unfinished_ ACCELD_GUARDED_BY(mutex_);
  absl::Status status_ ACCELD_GUARDED_BY(mutex_);
  CommandChannel::CopyDone done_;
};

}  // namespace acceld
