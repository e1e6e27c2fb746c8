#include "client/remote_backend.h"

#include <atomic>
#include <optional>

#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "backends/ops/check_op.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// A result that a callback of the channel sets and one thread waits for.
template <typename T>
class Reply {
 public:
  // Called once.
  void Set(T value) {
    value_ = std::move(value);
    // Nothing is touched after this: whoever waits may be gone.
    set_.store(true, std::memory_order_release);
  }

  T Wait(CommandChannel& channel) {
    channel.Wait([this] { return set_.load(std::memory_order_acquire); });
    return *std::move(value_);
  }

 private:
  std::optional<T> value_;
  std::atomic<bool> set_{false};
};

// The value of a command that has one of type T.
template <typename T>
absl::StatusOr<T> ValueOf(CommandResult&& result) {
  ACCELD_RETURN_IF_ERROR(result.status);
  if (T* value = std::get_if<T>(&result.value)) return std::move(*value);
  return DeviceError("The daemon answered a command without the value it returns.");
}

}  // namespace

RemoteBackend::RemoteBackend(std::string endpoint, ConnectOptions options)
    : endpoint_(std::move(endpoint)),
      options_(std::move(options)),
      host_memory_([this](std::uint64_t bytes) { return channel().AllocateHost(bytes); }) {}

RemoteBackend::~RemoteBackend() {
  if (fork_guard_.InChild()) {
    // The threads that the connection needs to be closed are the parent's.
    (void)session_.release();
  } else {
    // Before the members that its callbacks use.
    session_.reset();
  }
}

absl::Status RemoteBackend::Init() {
  MutexLock lock(init_mutex_);
  if (initialized_) return absl::OkStatus();
  ACCELD_ASSIGN_OR_RETURN(
      session_, OpenSession(endpoint_, options_,
                            [this](std::uint64_t number, Stream stream, const absl::Status& error) {
                              OnLateError(number, stream, error);
                            }));
  {
    MutexLock table_lock(mutex_);
    programs_.emplace(session().programs, /*device=*/nullptr);
  }
  initialized_ = true;
  return absl::OkStatus();
}

absl::Status RemoteBackend::Ready() const {
  if (fork_guard_.InChild()) {
    return NotInitialized(
        "The backend belongs to the parent of this process; connect anew after a fork.",
        reason::kForkedProcess);
  }
  if (!initialized_) return NotInitialized("The backend is not initialized; call Init first.");
  return channel().status();
}

absl::Status RemoteBackend::CheckStream(Stream stream) const {
  if (streams_.contains(stream)) return absl::OkStatus();
  return UnknownStream(stream);
}

absl::Status RemoteBackend::CheckEvent(Event event) const {
  if (events_.contains(event)) return absl::OkStatus();
  return UnknownEvent(event);
}

template <typename Check>
absl::StatusOr<RemoteBackend::Answer> RemoteBackend::Ask(const Command& command, Check check) {
  ACCELD_RETURN_IF_ERROR(Ready());
  Reply<CommandResult> reply;
  std::uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(check());
    number = channel().Send(
        command, [&reply](CommandResult result) { reply.Set(std::move(result)); }, /*waits=*/true);
  }
  return Answer{.number = number, .result = reply.Wait(channel())};
}

void RemoteBackend::OnLateError(std::uint64_t number, Stream stream, const absl::Status& error) {
  MutexLock lock(errors_mutex_);
  late_errors_.try_emplace(stream, LateError{.number = number, .status = error});
}

absl::Status RemoteBackend::TakeLateError(std::optional<Stream> stream, std::uint64_t number,
                                          absl::Status status) {
  MutexLock lock(errors_mutex_);
  LateError earliest;
  for (auto it = late_errors_.begin(); it != late_errors_.end();) {
    const auto error = it++;
    if (error->second.number > number || (stream.has_value() && error->first != *stream)) continue;
    if (earliest.status.ok() || error->second.number < earliest.number) earliest = error->second;
    late_errors_.erase(error);
  }
  return status.ok() ? earliest.status : status;
}

// ---- Memory ----

absl::StatusOr<Address> RemoteBackend::Alloc(std::uint64_t bytes, const AllocOptions& options) {
  ACCELD_RETURN_IF_ERROR(Ready());
  // What nobody can map is not made.
  if (options.mappable && !CanMap()) return NoMappableMemory();
  if (options.openable && !channel().BringsDescriptors()) return NoDescriptors();
  // Whether the device has openable memory, the daemon knows.
  if (bytes == 0 && !options.openable) return EmptyAllocation();
  // The daemon chooses the address, since Alloc waits for it anyway.
  const Command alloc{.action = command::Alloc{.address = 0,
                                               .size_bytes = bytes,
                                               .mappable = options.mappable,
                                               .openable = options.openable}};
  ACCELD_ASSIGN_OR_RETURN(Answer answer, Ask(alloc, [] { return absl::OkStatus(); }));
  ACCELD_ASSIGN_OR_RETURN(const Address base, ValueOf<Address>(std::move(answer.result)));
  MutexLock lock(mutex_);
  addresses_.Insert(std::make_shared<Allocation>(base, bytes, nullptr));
  if (options.mappable) mappable_.emplace(base, nullptr);
  return base;
}

absl::Status RemoteBackend::Free(Address address) {
  ACCELD_RETURN_IF_ERROR(Ready());
  decltype(mappable_)::node_type view;  // Outlives the lock: to unmap takes time.
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(addresses_.Remove(address).status());
  view = mappable_.extract(address);
  Post({.action = command::Free{address}});
  return absl::OkStatus();
}

absl::Status RemoteBackend::CopyHtoD(Address target, absl::Span<const std::byte> source,
                                     std::optional<Stream> stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  const Stream used = stream.value_or(kDefaultStream);
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(used, "A copy from the host"));
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckStream(used));
    if (source.empty()) return absl::OkStatus();
    ACCELD_RETURN_IF_ERROR(
        addresses_.Find(target, source.size(), "The target of a copy to the device").status());
  }
  std::shared_ptr<const void> host;
  if (stream.has_value()) host = host_memory_.Find(source);
  channel().Write(target, source, used, std::move(host));
  return absl::OkStatus();
}

absl::Status RemoteBackend::CopyDtoH(absl::Span<std::byte> target, Address source,
                                     std::optional<Stream> stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  const Stream used = stream.value_or(kDefaultStream);
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(used, "A copy to the host"));
  std::shared_ptr<const void> host;
  if (stream.has_value()) host = host_memory_.Find(target);
  const bool waits = host == nullptr;
  {
    MutexLock lock(mutex_);
    ACCELD_RETURN_IF_ERROR(CheckStream(used));
    if (target.empty()) return absl::OkStatus();
    ACCELD_RETURN_IF_ERROR(
        addresses_.Find(source, target.size(), "The source of a copy from the device").status());
  }
  if (!waits) {
    channel().Read(target, source, used, /*keep_error=*/true, [host](absl::Status) {});
    return absl::OkStatus();
  }
  Reply<absl::Status> reply;
  const std::uint64_t number =
      channel().Read(target, source, used, /*keep_error=*/false,
                     [&reply](absl::Status status) { reply.Set(std::move(status)); });
  return TakeLateError(used, number, reply.Wait(channel()));
}

absl::StatusOr<absl::Span<std::byte>> RemoteBackend::AllocHost(std::uint64_t bytes) {
  ACCELD_RETURN_IF_ERROR(Ready());
  return host_memory_.Alloc(bytes);
}

absl::Status RemoteBackend::FreeHost(std::byte* data) {
  ACCELD_RETURN_IF_ERROR(Ready());
  return host_memory_.Free(data);
}

bool RemoteBackend::CanMap() const {
  const MemoryKind kind = session().device.memory_kind;
  return channel().CanMap() && (kind == MemoryKind::kHost || kind == MemoryKind::kUnified);
}

absl::StatusOr<std::uint64_t> RemoteBackend::SizeOfMappable(Address address,
                                                            std::string_view action) const {
  if (!CanMap()) return NoMappableMemory();
  ACCELD_ASSIGN_OR_RETURN(const std::shared_ptr<const Allocation> allocation,
                          addresses_.FindStart(address, action));
  if (!mappable_.contains(address)) return NotMappable(address);
  return allocation->size_bytes();
}

absl::StatusOr<absl::Span<std::byte>> RemoteBackend::Map(Address address) {
  ACCELD_RETURN_IF_ERROR(Ready());
  MutexLock map_lock(map_mutex_);
  std::uint64_t size_bytes = 0;
  {
    MutexLock lock(mutex_);
    ACCELD_ASSIGN_OR_RETURN(size_bytes, SizeOfMappable(address, "to map"));
    if (const auto& view = mappable_[address]) return absl::MakeSpan(view.get(), size_bytes);
  }
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> view, channel().Map(address, size_bytes));
  MutexLock lock(mutex_);
  // Freed meanwhile, it has no view any more.
  ACCELD_RETURN_IF_ERROR(SizeOfMappable(address, "to map").status());
  return absl::MakeSpan((mappable_[address] = std::move(view)).get(), size_bytes);
}

absl::Status RemoteBackend::Unmap(Address address) {
  ACCELD_RETURN_IF_ERROR(Ready());
  std::shared_ptr<std::byte> view;  // Outlives the lock: to unmap takes time.
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(SizeOfMappable(address, "to unmap").status());
  view = std::exchange(mappable_[address], nullptr);
  return view != nullptr ? absl::OkStatus() : NotMapped(address);
}

absl::StatusOr<ShareableHandle> RemoteBackend::ExportHandle(Address address) {
  ACCELD_RETURN_IF_ERROR(Ready());
  // The daemon makes the checks, as it answers anyway.
  ACCELD_ASSIGN_OR_RETURN(ShareableHandle handle, channel().ExportHandle(address));
  handle.device_uuid = session().device.uuid;
  return handle;
}

absl::StatusOr<Address> RemoteBackend::ImportHandle(const ShareableHandle&) {
  ACCELD_RETURN_IF_ERROR(Ready());
  return UnsupportedError(
      "A daemon takes no descriptors from its clients; open the memory in process, with a "
      "LocalBackend on the same device.");
}

// ---- Work ----

absl::Status RemoteBackend::Run(Op op, Stream stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  channel().WaitForRoom();
  MutexLock lock(mutex_);
  ACCELD_ASSIGN_OR_RETURN(const CheckedOp checked,
                          CheckOp(op, session().supported_ops, addresses_));
  ACCELD_RETURN_IF_ERROR(CheckStream(stream));
  if (recorder_.Recording(stream)) return Keep(stream, std::move(op));
  if (!checked.nothing_to_do) Post({.stream = stream, .action = command::Run{std::move(op)}});
  return absl::OkStatus();
}

absl::StatusOr<Stream> RemoteBackend::CreateStream(const StreamOptions& options) {
  ACCELD_RETURN_IF_ERROR(Ready());
  MutexLock lock(mutex_);
  if (streams_.size() >= session().streams) return LimitExceeded("streams", session().streams);
  const Stream stream{stream_numbers_.TakeClient()};
  streams_.insert(stream);
  Post({.action = command::CreateStream{.stream = stream, .priority = options.priority}});
  return stream;
}

absl::Status RemoteBackend::DestroyStream(Stream stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(stream, "The destruction"));
  if (stream == kDefaultStream) return DefaultStreamStays();
  ACCELD_RETURN_IF_ERROR(CheckStream(stream));
  streams_.erase(stream);
  Post({.stream = stream, .action = command::DestroyStream{}});
  return absl::OkStatus();
}

absl::StatusOr<Event> RemoteBackend::CreateEvent() {
  ACCELD_RETURN_IF_ERROR(Ready());
  MutexLock lock(mutex_);
  if (events_.size() >= session().events) return LimitExceeded("events", session().events);
  const Event event{event_numbers_.TakeClient()};
  events_.insert(event);
  Post({.action = command::CreateEvent{event}});
  return event;
}

absl::Status RemoteBackend::DestroyEvent(Event event) {
  ACCELD_RETURN_IF_ERROR(Ready());
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckEvent(event));
  events_.erase(event);
  Post({.action = command::DestroyEvent{event}});
  return absl::OkStatus();
}

absl::Status RemoteBackend::RecordEvent(Event event, Stream stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  channel().WaitForRoom();
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckStream(stream));
  ACCELD_RETURN_IF_ERROR(CheckEvent(event));
  if (recorder_.Recording(stream)) return Keep(stream, EventItem{.event = event, .records = true});
  Post({.stream = stream, .action = command::RecordEvent{event}});
  return absl::OkStatus();
}

absl::Status RemoteBackend::WaitEvent(Stream stream, Event event) {
  ACCELD_RETURN_IF_ERROR(Ready());
  channel().WaitForRoom();
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckStream(stream));
  ACCELD_RETURN_IF_ERROR(CheckEvent(event));
  if (recorder_.Recording(stream)) return Keep(stream, EventItem{.event = event});
  Post({.stream = stream, .action = command::WaitEvent{event}});
  return absl::OkStatus();
}

absl::StatusOr<bool> RemoteBackend::QueryEvent(Event event) {
  const Command query{.action = command::QueryEvent{event}};
  const auto check = [&]() ACCELD_REQUIRES(mutex_) { return CheckEvent(event); };
  ACCELD_ASSIGN_OR_RETURN(Answer answer, Ask(query, check));
  return ValueOf<bool>(std::move(answer.result));
}

absl::Status RemoteBackend::SynchronizeEvent(Event event) {
  const Command synchronize{.action = command::SynchronizeEvent{event}};
  const auto check = [&]() ACCELD_REQUIRES(mutex_) { return CheckEvent(event); };
  ACCELD_ASSIGN_OR_RETURN(Answer answer, Ask(synchronize, check));
  return answer.result.status;
}

absl::StatusOr<std::chrono::nanoseconds> RemoteBackend::ElapsedTime(Event start, Event stop) {
  const Command elapsed{.action = command::ElapsedTime{.start = start, .stop = stop}};
  const auto check = [&]() ACCELD_REQUIRES(mutex_) {
    ACCELD_RETURN_IF_ERROR(CheckEvent(start));
    return CheckEvent(stop);
  };
  ACCELD_ASSIGN_OR_RETURN(Answer answer, Ask(elapsed, check));
  return ValueOf<std::chrono::nanoseconds>(std::move(answer.result));
}

absl::Status RemoteBackend::SynchronizeStream(Stream stream) {
  const Command synchronize{.stream = stream, .action = command::SynchronizeStream{}};
  const auto check = [&]() ACCELD_REQUIRES(mutex_) {
    ACCELD_RETURN_IF_ERROR(CheckStream(stream));
    return recorder_.CheckNotRecording(stream, "A synchronization");
  };
  ACCELD_ASSIGN_OR_RETURN(Answer answer, Ask(synchronize, check));
  return TakeLateError(stream, answer.number, std::move(answer.result.status));
}

absl::Status RemoteBackend::Synchronize() {
  const Command synchronize{.action = command::Synchronize{}};
  ACCELD_ASSIGN_OR_RETURN(Answer answer, Ask(synchronize, [] { return absl::OkStatus(); }));
  return TakeLateError(std::nullopt, answer.number, std::move(answer.result.status));
}

// ---- Programs ----

absl::Status RemoteBackend::Keep(Stream stream, ProgramItem item) {
  return recorder_.Add(stream, std::move(item), session().programs.items);
}

absl::Status RemoteBackend::BeginRecording(Stream stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckStream(stream));
  return recorder_.Begin(stream);
}

absl::StatusOr<Program> RemoteBackend::EndRecording(Stream stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  channel().WaitForRoom();
  Program program{0};
  Command command;
  const auto define = [&]() ACCELD_REQUIRES(mutex_) -> absl::Status {
    ACCELD_RETURN_IF_ERROR(CheckStream(stream));
    ACCELD_ASSIGN_OR_RETURN(std::vector<ProgramItem> items, recorder_.End(stream));
    program = Program{program_numbers_.TakeClient()};
    command.action = command::DefineProgram{.program = program, .items = items};
    const std::uint64_t bytes = channel().EncodedBytes(command);
    if (bytes > session().command_bytes) {
      return InvalidArgument(fmt::format("A program takes {} bytes in a message; the limit is {}.",
                                         bytes, session().command_bytes),
                             reason::kLimitExceeded);
    }
    return programs_->Define(std::move(items), session().supported_ops, addresses_, program)
        .status();
  };
  // It is rare, so its errors may cost a round trip.
  ACCELD_ASSIGN_OR_RETURN(const Answer answer, Ask(command, define));
  if (answer.result.status.ok()) return program;
  MutexLock lock(mutex_);
  (void)programs_->Destroy(program);
  return answer.result.status;
}

absl::Status RemoteBackend::Replay(Program program, absl::Span<const Rebinding> rebindings,
                                   Stream stream) {
  ACCELD_RETURN_IF_ERROR(Ready());
  channel().WaitForRoom();
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(CheckStream(stream));
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(stream, "A replay"));
  ACCELD_ASSIGN_OR_RETURN(
      const ProgramTable::Bound bound,
      programs_->Bind(program, rebindings, session().supported_ops, addresses_));
  for (const EventItem& item : bound.program->events) {
    ACCELD_RETURN_IF_ERROR(CheckEvent(item.event));
  }
  Post({.stream = stream,
        .action = command::Replay{.program = program,
                                  .rebindings = {rebindings.begin(), rebindings.end()}}});
  return absl::OkStatus();
}

absl::Status RemoteBackend::DestroyProgram(Program program) {
  ACCELD_RETURN_IF_ERROR(Ready());
  MutexLock lock(mutex_);
  ACCELD_RETURN_IF_ERROR(programs_->Destroy(program));
  Post({.action = command::DestroyProgram{program}});
  return absl::OkStatus();
}

// ---- Descriptions ----

std::string RemoteBackend::name() const {
  if (initialized_) return std::string(Name(session().device.kind));
  return options_.kind.has_value() ? std::string(Name(*options_.kind)) : "remote";
}

Capabilities RemoteBackend::capabilities() const {
  return initialized_ ? session().device.capabilities : Capabilities{};
}

std::vector<DeviceInfo> RemoteBackend::devices() const {
  if (!initialized_) return {};
  if (!Ready().ok()) return {session().device};
  return {session_->CurrentDevice()};
}

Tile RemoteBackend::RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const {
  return acceld::RecommendedTile(capabilities(), m, n, k);
}

}  // namespace acceld
