#include "backends/recording/recording_backend.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "backends/core/status.h"
#include "backends/ops/check_op.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// What RecordedCall counts of a checked op.
std::uint64_t OutputCount(Op& op) {
  const std::uint64_t unit_bytes = std::visit(
      [](const auto& typed) -> std::uint64_t {
        if constexpr (requires { typed.bytes; }) {
          return 1;
        } else if constexpr (requires { typed.type; }) {
          return SizeOf(typed.type);
        } else {
          return SizeOf(DataType::kF32);
        }
      },
      op);
  WideBytes bytes = 0;
  for (const Operand& operand : OperandsOf(op)) {
    if (operand.Written()) bytes += operand.ElementBytes();
  }
  return static_cast<std::uint64_t>(
      std::min<WideBytes>(bytes / unit_bytes, std::numeric_limits<std::uint64_t>::max()));
}

absl::Status CheckNotEmpty(std::uint64_t bytes, std::string_view call) {
  if (bytes > 0) return absl::OkStatus();
  return InvalidArgument(fmt::format("The size of {} is 0 bytes; it must be at least 1.", call));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RecordedCall& call) {
  return out << fmt::format("{}({}) on stream {}", call.name, call.count,
                            static_cast<std::uint64_t>(call.stream));
}

std::vector<RecordedCall> RecordingBackend::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

void RecordingBackend::ClearCalls() {
  MutexLock lock(mutex_);
  calls_.clear();
}

absl::Status RecordingBackend::Record(std::string_view name, std::uint64_t count, Stream stream) {
  MutexLock lock(mutex_);
  calls_.push_back({.name = std::string(name), .count = count, .stream = stream});
  return absl::OkStatus();
}

absl::Status RecordingBackend::Init() {
  {
    MutexLock lock(mutex_);
    initialized_ = true;
  }
  return Record("init");
}

bool RecordingBackend::initialized() const {
  MutexLock lock(mutex_);
  return initialized_;
}

absl::StatusOr<Address> RecordingBackend::Alloc(std::uint64_t bytes, const AllocOptions&) {
  ACCELD_RETURN_IF_ERROR(CheckNotEmpty(bytes, "alloc"));
  absl::StatusOr<Address> address;
  {
    MutexLock lock(mutex_);
    address = addresses_.Take(bytes);
  }
  if (address.ok()) ACCELD_RETURN_IF_ERROR(Record("alloc", bytes));
  return address;
}

absl::Status RecordingBackend::Free(Address) { return Record("free"); }

absl::Status RecordingBackend::CopyHtoD(Address, absl::Span<const std::byte> source,
                                        std::optional<Stream> stream) {
  return Record("copy_htod", source.size(), stream.value_or(kDefaultStream));
}

absl::Status RecordingBackend::CopyDtoH(absl::Span<std::byte> target, Address,
                                        std::optional<Stream> stream) {
  std::fill(target.begin(), target.end(), std::byte{0});
  return Record("copy_dtoh", target.size(), stream.value_or(kDefaultStream));
}

absl::StatusOr<absl::Span<std::byte>> RecordingBackend::AllocHost(std::uint64_t bytes) {
  ACCELD_RETURN_IF_ERROR(CheckNotEmpty(bytes, "alloc_host"));
  if (bytes > kMaxHostBytes) {
    return OutOfMemory(
        fmt::format("The size of alloc_host is {} bytes; the recording backend allows {}.", bytes,
                    kMaxHostBytes));
  }
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]());
  if (memory == nullptr) {
    return OutOfMemory(fmt::format("The host has no {} bytes left for alloc_host.", bytes));
  }
  std::byte* const data = memory.get();
  {
    MutexLock lock(mutex_);
    host_memory_.emplace(data, std::move(memory));
  }
  ACCELD_RETURN_IF_ERROR(Record("alloc_host", bytes));
  return absl::MakeSpan(data, bytes);
}

absl::Status RecordingBackend::FreeHost(std::byte* data) {
  {
    MutexLock lock(mutex_);
    if (host_memory_.erase(data) == 0) {
      return InvalidArgument(fmt::format("The host memory at {} of free_host is not the start of "
                                         "what alloc_host returned, or was freed.",
                                         static_cast<const void*>(data)),
                             reason::kUnknownAddress);
    }
  }
  return Record("free_host");
}

absl::StatusOr<absl::Span<std::byte>> RecordingBackend::Map(Address) {
  return UnsupportedError("The recording backend has no memory to map.");
}

absl::Status RecordingBackend::Unmap(Address) {
  return UnsupportedError("The recording backend has no memory to unmap.");
}

absl::StatusOr<ShareableHandle> RecordingBackend::ExportHandle(Address) {
  return UnsupportedError("The recording backend has no memory to export.");
}

absl::StatusOr<Address> RecordingBackend::ImportHandle(const ShareableHandle&) {
  return UnsupportedError("The recording backend has no memory to import.");
}

absl::Status RecordingBackend::Run(Op op, Stream stream) {
  ACCELD_RETURN_IF_ERROR(CheckOpShape(op, OpSet().set()));
  return Record(OpName(op), OutputCount(op), stream);
}

absl::StatusOr<Stream> RecordingBackend::CreateStream(const StreamOptions&) {
  Stream stream;
  {
    MutexLock lock(mutex_);
    stream = Stream{++last_stream_};
  }
  ACCELD_RETURN_IF_ERROR(Record("create_stream", 0, stream));
  return stream;
}

absl::Status RecordingBackend::DestroyStream(Stream stream) {
  return Record("destroy_stream", 0, stream);
}

absl::StatusOr<Event> RecordingBackend::CreateEvent() {
  Event event;
  {
    MutexLock lock(mutex_);
    event = Event{++last_event_};
  }
  ACCELD_RETURN_IF_ERROR(Record("create_event"));
  return event;
}

absl::Status RecordingBackend::DestroyEvent(Event) { return Record("destroy_event"); }

absl::Status RecordingBackend::RecordEvent(Event, Stream stream) {
  return Record("record_event", 0, stream);
}

absl::Status RecordingBackend::WaitEvent(Stream stream, Event) {
  return Record("wait_event", 0, stream);
}

absl::StatusOr<bool> RecordingBackend::QueryEvent(Event) {
  ACCELD_RETURN_IF_ERROR(Record("query_event"));
  return true;
}

absl::Status RecordingBackend::SynchronizeEvent(Event) { return Record("synchronize_event"); }

absl::StatusOr<std::chrono::nanoseconds> RecordingBackend::ElapsedTime(Event, Event) {
  ACCELD_RETURN_IF_ERROR(Record("elapsed_time"));
  return std::chrono::nanoseconds(0);
}

absl::Status RecordingBackend::SynchronizeStream(Stream stream) {
  return Record("synchronize_stream", 0, stream);
}

absl::Status RecordingBackend::Synchronize() { return Record("synchronize"); }

absl::Status RecordingBackend::BeginRecording(Stream stream) {
  return Record("begin_recording", 0, stream);
}

absl::StatusOr<Program> RecordingBackend::EndRecording(Stream stream) {
  Program program;
  {
    MutexLock lock(mutex_);
    program = Program{++last_program_};
  }
  ACCELD_RETURN_IF_ERROR(Record("end_recording", 0, stream));
  return program;
}

absl::Status RecordingBackend::Replay(Program, absl::Span<const Rebinding>, Stream stream) {
  return Record("replay", 0, stream);
}

absl::Status RecordingBackend::DestroyProgram(Program) { return Record("destroy_program"); }

Tile RecordingBackend::RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const {
  return acceld::RecommendedTile(capabilities(), m, n, k);
}

}  // namespace acceld
