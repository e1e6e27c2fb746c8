#include "backends/context/program_recorder.h"

#include <cstdint>
#include <utility>

#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

absl::Status NotRecording(Stream stream) {
  return NotInitialized(fmt::format("Stream {} records no program; call BeginRecording first.",
                                    static_cast<std::uint64_t>(stream)));
}

}  // namespace

bool ProgramRecorder::Find(Stream stream) const {
  MutexLock lock(mutex_);
  return recordings_.contains(stream);
}

absl::Status ProgramRecorder::Begin(Stream stream) {
  MutexLock lock(mutex_);
  if (!recordings_.try_emplace(stream).second) {
    return StreamRecording("The start of a recording", stream);
  }
  count_.store(recordings_.size(), std::memory_order_release);
  return absl::OkStatus();
}

absl::Status ProgramRecorder::Add(Stream stream, ProgramItem item, std::size_t max_items) {
  MutexLock lock(mutex_);
  const auto found = recordings_.find(stream);
  if (found == recordings_.end()) return NotRecording(stream);
  if (found->second.size() >= max_items) return ProgramTooLong(max_items + 1, max_items);
  found->second.push_back(std::move(item));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ProgramItem>> ProgramRecorder::End(Stream stream) {
  MutexLock lock(mutex_);
  const auto found = recordings_.find(stream);
  if (found == recordings_.end()) return NotRecording(stream);
  std::vector<ProgramItem> items = std::move(found->second);
  recordings_.erase(found);
  count_.store(recordings_.size(), std::memory_order_release);
  return items;
}

absl::Status ProgramRecorder::CheckNotRecording(Stream stream, std::string_view what) const {
  return Recording(stream) ? StreamRecording(what, stream) : absl::OkStatus();
}

}  // namespace acceld
