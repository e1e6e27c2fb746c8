#include "backends/null/null_backend.h"

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {

absl::Status NullBackend::Refuse(std::string_view call) const {
  if (!initialized_) {
    return NotInitialized(fmt::format("Init of the null backend comes before {}.", call));
  }
  return UnsupportedError(fmt::format("The null backend does not support {}.", call));
}

absl::Status NullBackend::Init() {
  initialized_ = true;
  return absl::OkStatus();
}

absl::StatusOr<Address> NullBackend::Alloc(std::uint64_t, const AllocOptions&) {
  return Refuse("alloc");
}

absl::Status NullBackend::Free(Address) { return Refuse("free"); }

absl::Status NullBackend::CopyHtoD(Address, absl::Span<const std::byte>, std::optional<Stream>) {
  return Refuse("copy_htod");
}

absl::Status NullBackend::CopyDtoH(absl::Span<std::byte>, Address, std::optional<Stream>) {
  return Refuse("copy_dtoh");
}

absl::StatusOr<absl::Span<std::byte>> NullBackend::AllocHost(std::uint64_t) {
  return Refuse("alloc_host");
}

absl::Status NullBackend::FreeHost(std::byte*) { return Refuse("free_host"); }

absl::StatusOr<absl::Span<std::byte>> NullBackend::Map(Address) { return Refuse("map"); }

absl::Status NullBackend::Unmap(Address) { return Refuse("unmap"); }

absl::StatusOr<ShareableHandle> NullBackend::ExportHandle(Address) {
  return Refuse("export_handle");
}

absl::StatusOr<Address> NullBackend::ImportHandle(const ShareableHandle&) {
  return Refuse("import_handle");
}

absl::Status NullBackend::Run(Op op, Stream) { return Refuse(OpName(op)); }

absl::StatusOr<Stream> NullBackend::CreateStream(const StreamOptions&) {
  return Refuse("create_stream");
}

absl::Status NullBackend::DestroyStream(Stream) { return Refuse("destroy_stream"); }

absl::StatusOr<Event> NullBackend::CreateEvent() { return Refuse("create_event"); }

absl::Status NullBackend::DestroyEvent(Event) { return Refuse("destroy_event"); }

absl::Status NullBackend::RecordEvent(Event, Stream) { return Refuse("record_event"); }

absl::Status NullBackend::WaitEvent(Stream, Event) { return Refuse("wait_event"); }

absl::StatusOr<bool> NullBackend::QueryEvent(Event) { return Refuse("query_event"); }

absl::Status NullBackend::SynchronizeEvent(Event) { return Refuse("synchronize_event"); }

absl::StatusOr<std::chrono::nanoseconds> NullBackend::ElapsedTime(Event, Event) {
  return Refuse("elapsed_time");
}

absl::Status NullBackend::SynchronizeStream(Stream) { return Refuse("synchronize_stream"); }

absl::Status NullBackend::Synchronize() {
  return initialized_ ? absl::OkStatus() : Refuse("synchronize");
}

absl::Status NullBackend::BeginRecording(Stream) { return Refuse("begin_recording"); }

absl::StatusOr<Program> NullBackend::EndRecording(Stream) { return Refuse("end_recording"); }

absl::Status NullBackend::Replay(Program, absl::Span<const Rebinding>, Stream) {
  return Refuse("replay");
}

absl::Status NullBackend::DestroyProgram(Program) { return Refuse("destroy_program"); }

Tile NullBackend::RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const {
  return acceld::RecommendedTile(capabilities(), m, n, k);
}

}  // namespace acceld
