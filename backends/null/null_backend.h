// A backend that refuses everything: what a consumer sees where no op is supported.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "backends/compute_backend.h"

namespace acceld {

// Init, Synchronize and the descriptions succeed; every other call is unsupported. Before Init,
// every call but the descriptions is "not initialized". It has no device and reports the default
// capabilities. Thread-safe.
class NullBackend : public ComputeBackend {
 public:
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

  std::string name() const override { return "null"; }
  bool initialized() const override { return initialized_; }
  Capabilities capabilities() const override { return {}; }
  std::vector<DeviceInfo> devices() const override { return {}; }
  Tile RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const override;

 private:
  // The error of `call`, such as "gemm".
  absl::Status Refuse(std::string_view call) const;

  std::atomic<bool> initialized_ = false;
};

}  // namespace acceld
