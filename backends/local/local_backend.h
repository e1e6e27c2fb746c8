// A backend in this process, over a device of its own.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "backends/context/device_context.h"
#include "backends/context/program_recorder.h"
#include "backends/core/waiter.h"
#include "backends/device.h"
#include "backends/memory/host_memory.h"

namespace acceld {

class LocalBackend final : public ComputeBackend {
 public:
  // `device` is not initialized yet; Init does that.
  explicit LocalBackend(std::unique_ptr<Device> device);
  // Drops work that has not started and waits for what runs.
  ~LocalBackend() override;

  absl::Status Init() override;

  absl::StatusOr<Address> Alloc(std::uint64_t bytes, const AllocOptions& options = {}) override;
  absl::Status Free(Address address) override;
  absl::Status CopyHtoD(Address target, absl::Span<const std::byte> source,
                        std::optional<Stream> stream = std::nullopt) override;
  absl::Status CopyDtoH(absl::Span<std::byte> target, Address source,
                        std::optional<Stream> stream = std::nullopt) override;
  absl::StatusOr<absl::Span<std::byte>> AllocHost(std::uint64_t bytes) override;
  absl::Status FreeHost(std::byte* data) override;
  absl::StatusOr<absl::Span<std::byte>> Map(Address address) override;
  absl::Status Unmap(Address address) override;
  absl::StatusOr<ShareableHandle> ExportHandle(Address address) override;
  absl::StatusOr<Address> ImportHandle(const ShareableHandle& handle) override;

  absl::Status Run(Op op, Stream stream = kDefaultStream) override;
  absl::StatusOr<Stream> CreateStream(const StreamOptions& options = {}) override;
  absl::Status DestroyStream(Stream stream) override;
  absl::StatusOr<Event> CreateEvent() override;
  absl::Status DestroyEvent(Event event) override;
  absl::Status RecordEvent(Event event, Stream stream = kDefaultStream) override;
  absl::Status WaitEvent(Stream stream, Event event) override;
  absl::StatusOr<bool> QueryEvent(Event event) override;
  absl::Status SynchronizeEvent(Event event) override;
  absl::StatusOr<std::chrono::nanoseconds> ElapsedTime(Event start, Event stop) override;
  absl::Status SynchronizeStream(Stream stream) override;
  absl::Status Synchronize() override;
  absl::Status BeginRecording(Stream stream) override;
  absl::StatusOr<Program> EndRecording(Stream stream) override;
  absl::Status Replay(Program program, absl::Span<const Rebinding> rebindings = {},
                      Stream stream = kDefaultStream) override;
  absl::Status DestroyProgram(Program program) override;

  std::string name() const override;
  bool initialized() const override;
  Capabilities capabilities() const override;
  std::vector<DeviceInfo> devices() const override;
  Tile RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const override;

 private:
  // The context, once Init has made it; else "not initialized".
  absl::StatusOr<DeviceContext*> Ready() const;
  // As above, once there is room for another item of work.
  absl::StatusOr<DeviceContext*> ReadyForWork() const;

  const std::unique_ptr<Device> device_;
  ProgramRecorder recorder_;
  HostMemory host_memory_;
  Mutex init_mutex_;
  std::shared_ptr<DeviceContext> context_;
  // Set when nothing uses the device any more, which may be a little later than `context_` goes.
  std::optional<Waiter<bool>> device_unused_;
  // Set when `context_` is, which then stays as it is.
  std::atomic<bool> initialized_{false};
};

}  // namespace acceld
