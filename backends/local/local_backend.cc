#include "backends/local/local_backend.h"

#include "backends/core/status.h"
#include "backends/core/waiter.h"

namespace acceld {
namespace {

// How many items of work may be unfinished before a caller waits.
constexpr std::size_t kMaxUnfinished = 4096;

using StatusWaiter = Waiter<absl::Status>;

}  // namespace

LocalBackend::LocalBackend(std::unique_ptr<Device> device)
    : device_(std::move(device)),
      host_memory_([device = device_.get()](
                       std::uint64_t bytes) -> absl::StatusOr<std::shared_ptr<std::byte>> {
        ACCELD_ASSIGN_OR_RETURN(std::byte * data, device->AllocateHost(bytes));
        return std::shared_ptr<std::byte>(
            data, [device, bytes](std::byte* owned) { device->ReleaseHost(owned, bytes); });
      }) {}

LocalBackend::~LocalBackend() {
  if (context_ == nullptr) return;
  context_->Close();
  // What the device works on, and the thread that tells of it, hold the context as well.
  context_.reset();
  device_unused_->Wait();
}

absl::Status LocalBackend::Init() {
  MutexLock lock(init_mutex_);
  if (initialized_) return absl::OkStatus();
  ACCELD_RETURN_IF_ERROR(device_->Init());
  // The backend owns the device, so the context's pointer only tells when it goes.
  const Waiter<bool> unused;
  std::shared_ptr<WorkSink> sink(device_.get(), [unused](WorkSink*) { unused(true); });
  ACCELD_ASSIGN_OR_RETURN(context_, DeviceContext::Create(*device_, std::move(sink)));
  device_unused_ = unused;
  initialized_ = true;
  return absl::OkStatus();
}

absl::StatusOr<DeviceContext*> LocalBackend::Ready() const {
  if (!initialized_) return NotInitialized("The backend is not initialized; call Init first.");
  return context_.get();
}

absl::StatusOr<DeviceContext*> LocalBackend::ReadyForWork() const {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  context->WaitForRoom(kMaxUnfinished);
  return context;
}

// ---- Memory ----

absl::StatusOr<Address> LocalBackend::Alloc(std::uint64_t bytes, const AllocOptions& options) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->Alloc(bytes, options);
}

absl::Status LocalBackend::Free(Address address) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->Free(address);
}

absl::Status LocalBackend::CopyHtoD(Address target, absl::Span<const std::byte> source,
                                    std::optional<Stream> stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, ReadyForWork());
  const Stream used = stream.value_or(kDefaultStream);
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(used, "A copy from the host"));
  std::shared_ptr<const void> host;
  if (stream.has_value()) host = host_memory_.Find(source);
  if (host != nullptr) return context->Write(target, source, used, std::move(host), nullptr);
  const StatusWaiter done;
  ACCELD_RETURN_IF_ERROR(context->Write(target, source, used, nullptr, done));
  (void)done.Wait();  // An error belongs to the stream; the source is free either way.
  return absl::OkStatus();
}

absl::Status LocalBackend::CopyDtoH(absl::Span<std::byte> target, Address source,
                                    std::optional<Stream> stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, ReadyForWork());
  const Stream used = stream.value_or(kDefaultStream);
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(used, "A copy to the host"));
  std::shared_ptr<const void> host;
  if (stream.has_value()) host = host_memory_.Find(target);
  if (host != nullptr) return context->Read(target, source, used, false, std::move(host), nullptr);
  const StatusWaiter done;
  ACCELD_RETURN_IF_ERROR(context->Read(target, source, used, true, nullptr, done));
  return done.Wait();
}

absl::StatusOr<absl::Span<std::byte>> LocalBackend::AllocHost(std::uint64_t bytes) {
  ACCELD_RETURN_IF_ERROR(Ready().status());
  return host_memory_.Alloc(bytes);
}

absl::Status LocalBackend::FreeHost(std::byte* data) {
  ACCELD_RETURN_IF_ERROR(Ready().status());
  return host_memory_.Free(data);
}

absl::StatusOr<absl::Span<std::byte>> LocalBackend::Map(Address address) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  ACCELD_ASSIGN_OR_RETURN(const MappedMemory mapped, context->Map(address));
  return mapped.bytes;
}

absl::Status LocalBackend::Unmap(Address address) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->Unmap(address);
}

absl::StatusOr<ShareableHandle> LocalBackend::ExportHandle(Address address) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->ExportHandle(address);
}

absl::StatusOr<Address> LocalBackend::ImportHandle(const ShareableHandle& handle) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->ImportHandle(handle);
}

// ---- Work ----

absl::Status LocalBackend::Run(Op op, Stream stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, ReadyForWork());
  if (recorder_.Recording(stream)) {
    ACCELD_RETURN_IF_ERROR(context->CheckRun(op));
    return recorder_.Add(stream, std::move(op), context->max_program_items());
  }
  return context->Run(std::move(op), stream);
}

absl::StatusOr<Stream> LocalBackend::CreateStream(const StreamOptions& options) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->CreateStream(options);
}

absl::Status LocalBackend::DestroyStream(Stream stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(stream, "The destruction"));
  return context->DestroyStream(stream);
}

absl::StatusOr<Event> LocalBackend::CreateEvent() {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->CreateEvent();
}

absl::Status LocalBackend::DestroyEvent(Event event) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->DestroyEvent(event);
}

absl::Status LocalBackend::RecordEvent(Event event, Stream stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, ReadyForWork());
  if (recorder_.Recording(stream)) {
    ACCELD_RETURN_IF_ERROR(context->CheckEvent(event));
    return recorder_.Add(stream, EventItem{.event = event, .records = true},
                         context->max_program_items());
  }
  return context->RecordEvent(event, stream);
}

absl::Status LocalBackend::WaitEvent(Stream stream, Event event) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, ReadyForWork());
  if (recorder_.Recording(stream)) {
    ACCELD_RETURN_IF_ERROR(context->CheckEvent(event));
    return recorder_.Add(stream, EventItem{.event = event}, context->max_program_items());
  }
  return context->WaitEvent(stream, event);
}

absl::StatusOr<bool> LocalBackend::QueryEvent(Event event) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->QueryEvent(event);
}

absl::Status LocalBackend::SynchronizeEvent(Event event) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  const StatusWaiter done;
  ACCELD_RETURN_IF_ERROR(context->SynchronizeEvent(event, done));
  return done.Wait();
}

absl::StatusOr<std::chrono::nanoseconds> LocalBackend::ElapsedTime(Event start, Event stop) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->ElapsedTime(start, stop);
}

absl::Status LocalBackend::SynchronizeStream(Stream stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(stream, "A synchronization"));
  const StatusWaiter done;
  ACCELD_RETURN_IF_ERROR(context->SynchronizeStream(stream, done));
  return done.Wait();
}

absl::Status LocalBackend::Synchronize() {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  const StatusWaiter done;
  ACCELD_RETURN_IF_ERROR(context->Synchronize(done));
  return done.Wait();
}

// ---- Programs ----

absl::Status LocalBackend::BeginRecording(Stream stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  ACCELD_RETURN_IF_ERROR(context->CheckStream(stream));
  return recorder_.Begin(stream);
}

absl::StatusOr<Program> LocalBackend::EndRecording(Stream stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  ACCELD_RETURN_IF_ERROR(context->CheckStream(stream));
  ACCELD_ASSIGN_OR_RETURN(std::vector<ProgramItem> items, recorder_.End(stream));
  return context->DefineProgram(std::move(items));
}

absl::Status LocalBackend::Replay(Program program, absl::Span<const Rebinding> rebindings,
                                  Stream stream) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, ReadyForWork());
  ACCELD_RETURN_IF_ERROR(recorder_.CheckNotRecording(stream, "A replay"));
  return context->Replay(program, rebindings, stream);
}

absl::Status LocalBackend::DestroyProgram(Program program) {
  ACCELD_ASSIGN_OR_RETURN(DeviceContext * context, Ready());
  return context->DestroyProgram(program);
}

// ---- Descriptions ----

std::string LocalBackend::name() const { return std::string(Name(device_->info().kind)); }

bool LocalBackend::initialized() const { return initialized_; }

Capabilities LocalBackend::capabilities() const { return device_->info().capabilities; }

std::vector<DeviceInfo> LocalBackend::devices() const {
  DeviceInfo info = device_->info();
  info.free_memory_bytes = device_->memory().free_bytes;
  return {std::move(info)};
}

Tile LocalBackend::RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const {
  return device_->RecommendedTile(m, n, k);
}

}  // namespace acceld
