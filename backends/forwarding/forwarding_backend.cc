#include "backends/forwarding/forwarding_backend.h"

#include <utility>

namespace acceld {

absl::Status ForwardingBackend::Init() { return target_.Init(); }

absl::StatusOr<Address> ForwardingBackend::Alloc(std::uint64_t bytes, const AllocOptions& options) {
  return target_.Alloc(bytes, options);
}

absl::Status ForwardingBackend::Free(Address address) { return target_.Free(address); }

absl::Status ForwardingBackend::CopyHtoD(Address target, absl::Span<const std::byte> source,
                                         std::optional<Stream> stream) {
  return target_.CopyHtoD(target, source, stream);
}

absl::Status ForwardingBackend::CopyDtoH(absl::Span<std::byte> target, Address source,
                                         std::optional<Stream> stream) {
  return target_.CopyDtoH(target, source, stream);
}

absl::StatusOr<absl::Span<std::byte>> ForwardingBackend::AllocHost(std::uint64_t bytes) {
  return target_.AllocHost(bytes);
}

absl::Status ForwardingBackend::FreeHost(std::byte* data) { return target_.FreeHost(data); }

absl::StatusOr<absl::Span<std::byte>> ForwardingBackend::Map(Address address) {
  return target_.Map(address);
}

absl::Status ForwardingBackend::Unmap(Address address) { return target_.Unmap(address); }

absl::StatusOr<ShareableHandle> ForwardingBackend::ExportHandle(Address address) {
  return target_.ExportHandle(address);
}

absl::StatusOr<Address> ForwardingBackend::ImportHandle(const ShareableHandle& handle) {
  return target_.ImportHandle(handle);
}

absl::Status ForwardingBackend::Run(Op op, Stream stream) {
  return target_.Run(std::move(op), stream);
}

absl::StatusOr<Stream> ForwardingBackend::CreateStream(const StreamOptions& options) {
  return target_.CreateStream(options);
}

absl::Status ForwardingBackend::DestroyStream(Stream stream) {
  return target_.DestroyStream(stream);
}

absl::StatusOr<Event> ForwardingBackend::CreateEvent() { return target_.CreateEvent(); }

absl::Status ForwardingBackend::DestroyEvent(Event event) { return target_.DestroyEvent(event); }

absl::Status ForwardingBackend::RecordEvent(Event event, Stream stream) {
  return target_.RecordEvent(event, stream);
}

absl::Status ForwardingBackend::WaitEvent(Stream stream, Event event) {
  return target_.WaitEvent(stream, event);
}

absl::StatusOr<bool> ForwardingBackend::QueryEvent(Event event) {
  return target_.QueryEvent(event);
}

absl::Status ForwardingBackend::SynchronizeEvent(Event event) {
  return target_.SynchronizeEvent(event);
}

absl::StatusOr<std::chrono::nanoseconds> ForwardingBackend::ElapsedTime(Event start, Event stop) {
  return target_.ElapsedTime(start, stop);
}

absl::Status ForwardingBackend::SynchronizeStream(Stream stream) {
  return target_.SynchronizeStream(stream);
}

absl::Status ForwardingBackend::Synchronize() { return target_.Synchronize(); }

absl::Status ForwardingBackend::BeginRecording(Stream stream) {
  return target_.BeginRecording(stream);
}

absl::StatusOr<Program> ForwardingBackend::EndRecording(Stream stream) {
  return target_.EndRecording(stream);
}

absl::Status ForwardingBackend::Replay(Program program, absl::Span<const Rebinding> rebindings,
                                       Stream stream) {
  return target_.Replay(program, rebindings, stream);
}

absl::Status ForwardingBackend::DestroyProgram(Program program) {
  return target_.DestroyProgram(program);
}

std::string ForwardingBackend::name() const { return target_.name(); }

bool ForwardingBackend::initialized() const { return target_.initialized(); }

Capabilities ForwardingBackend::capabilities() const { return target_.capabilities(); }

std::vector<DeviceInfo> ForwardingBackend::devices() const { return target_.devices(); }

Tile ForwardingBackend::RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const {
  return target_.RecommendedTile(m, n, k);
}

}  // namespace acceld
