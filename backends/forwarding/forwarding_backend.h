// A base for wrappers of a backend: overrides what it changes, and inherits the rest.
#pragma once

#include <string>
#include <vector>

#include "backends/compute_backend.h"

namespace acceld {

// Passes every call on to another backend, which must outlive it. As thread-safe as that one.
class ForwardingBackend : public ComputeBackend {
 public:
  explicit ForwardingBackend(ComputeBackend& target) : target_(target) {}

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

  // Every helper (Gemm, Memset, …) comes through here.
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

 protected:
  ComputeBackend& target() const { return target_; }

 private:
  ComputeBackend& target_;
};

}  // namespace acceld
