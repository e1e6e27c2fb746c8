// The programs that are being recorded, for a backend: which streams record, and what.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/context/program_item.h"
#include "backends/core/handles.h"
#include "backends/core/mutex.h"

namespace acceld {

// Thread-safe.
class ProgramRecorder {
 public:
  // Whether `stream` records. Costs next to nothing where no stream does.
  bool Recording(Stream stream) const {
    return count_.load(std::memory_order_acquire) > 0 && Find(stream);
  }

  // Failed precondition (reason STREAM_RECORDING) where `stream` records already.
  absl::Status Begin(Stream stream);

  // Appends an item that was checked. Invalid argument (reason LIMIT_EXCEEDED) where the program
  // has `max_items` already.
  absl::Status Add(Stream stream, ProgramItem item, std::size_t max_items);

  // Ends the recording and returns its items. Failed precondition where `stream` does not record.
  absl::StatusOr<std::vector<ProgramItem>> End(Stream stream);

  // Failed precondition (reason STREAM_RECORDING) where `stream` records. `what` starts the error,
  // such as "A copy from the host".
  absl::Status CheckNotRecording(Stream stream, std::string_view what) const;

 private:
  bool Find(Stream stream) const;

  mutable Mutex mutex_;
  absl::flat_hash_map<Stream, std::vector<ProgramItem>> recordings_ ACCELD_GUARDED_BY(mutex_);
  // The size of `recordings_`.
  std::atomic<std::size_t> count_{0};
};

}  // namespace acceld
