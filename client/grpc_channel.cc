#include "client/grpc_channel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "client/channel_closed.h"
#include "client/copy_join.h"
#include "client/departure.h"
#include "client/host_pages.h"
#include "fmt/format.h"
#include "grpcpp/generic/generic_stub.h"
#include "proto/wire/command_wire.h"
#include "proto/wire/grpc_bytes.h"
#include "proto/wire/grpc_status.h"

namespace acceld {
namespace {

constexpr char kSubmitMethod[] = "/acceld.v1.Compute/Submit";

// A sender waits beyond these.
constexpr std::size_t kMaxCommandsInFlight = 16384;
constexpr std::uint64_t kMaxBytesInFlight = 32 << 20;

// A message is full at this many bytes, so that the daemon starts on it while the next is being
// made.
constexpr std::uint64_t kFullMessageBytes = 1 << 20;

// What one command brings or fetches at most, so that a large copy is pipelined.
constexpr std::uint64_t kCopyChunkBytes = 1 << 20;

// From here on, copying the bytes into a message costs more than to wait until they have left.
constexpr std::uint64_t kBulkBytes = 256 << 10;

std::uint64_t BytesOf(const Command& command) {
  if (const auto* write = std::get_if<command::Write>(&command.action)) return write->data.size();
  if (const auto* read = std::get_if<command::Read>(&command.action)) return read->size_bytes;
  if (std::holds_alternative<command::DefineProgram>(command.action)) return WireBytes(command);
  return 0;
}

absl::Status CopyOut(const Pieces& data, absl::Span<std::byte> target) {
  if (TotalBytes(data) != target.size()) {
    return DeviceError(fmt::format("The daemon answered a read of {} bytes with {}.", target.size(),
                                   TotalBytes(data)));
  }
  std::byte* to = target.data();
  for (const auto& piece : data) to = std::copy(piece.begin(), piece.end(), to);
  return absl::OkStatus();
}

}  // namespace

GrpcChannel::GrpcChannel(std::shared_ptr<grpc::Channel> connection, const std::string& secret,
                         const v1::Limits& limits, OnError on_error)
    : max_message_commands_(limits.message_commands()),
      max_message_bytes_(std::min(limits.message_bytes(), kFullMessageBytes)),
      write_bytes_(std::min(limits.message_bytes() - kMessageOverheadBytes, kCopyChunkBytes)),
      read_bytes_(std::min(limits.read_bytes(), kCopyChunkBytes)),
      on_error_(std::move(on_error)) {
  grpc::GenericStub(std::move(connection))
      .PrepareBidiStreamingCall(context_.get(), kSubmitMethod, grpc::StubOptions(), this);
  v1::SubmitRequest greeting;
  greeting.set_session_secret(secret);
  MutexLock lock(mutex_);
  messages_.push_back({.commands = {}, .bytes = ToByteBuffer(greeting), .bulk = true});
  // Until nothing is read any more the call stays, so that any thread may write.
  AddHold();
  StartRead(&response_);
  StartCall();
  MaybeWrite();
}

GrpcChannel::~GrpcChannel() {
  MutexLock lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
  changed_.Wait(mutex_, [this]() ACCELD_REQUIRES(mutex_) { return done_; });
}

absl::Status GrpcChannel::status() const {
  MutexLock lock(mutex_);
  return status_;
}

bool GrpcChannel::HasRoom(std::uint64_t bytes) const {
  if (entries_.empty()) return true;
  return entries_.size() < kMaxCommandsInFlight && bytes_in_flight_ + bytes <= kMaxBytesInFlight;
}

bool GrpcChannel::HasMuchRoom() const {
  return entries_.size() <= kMaxCommandsInFlight / 2 &&
         bytes_in_flight_ + kCopyChunkBytes <= kMaxBytesInFlight;
}

void GrpcChannel::WaitForRoom(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (HasRoom(bytes)) return;
  room_.Wait(mutex_, [&]() ACCELD_REQUIRES(mutex_) { return !status_.ok() || HasRoom(bytes); });
}

std::uint64_t GrpcChannel::Send(const Command& command, Done done, bool /*waits*/) {
  return Add(command, {}, std::move(done));
}

std::uint64_t GrpcChannel::Add(const Command& command, absl::Span<std::byte> target, Done done) {
  MutexLock lock(mutex_);
  const std::uint64_t number = first_ + entries_.size();
  if (!status_.ok()) {
    const absl::Status status = status_;
    MutexUnlock unlock(mutex_);
    if (done) done({.status = status, .value = {}});
    return number;
  }
  auto* wire = google::protobuf::Arena::CreateMessage<v1::Command>(&arena_);
  ToWire(command, *wire);
  AppendCommand(*wire, Filling(wire->ByteSizeLong()).commands);
  arena_.Reset();
  Push({.done = std::move(done),
        .stream = command.stream,
        .bytes = BytesOf(command),
        .target = target});
  return number;
}

void GrpcChannel::AddBulk(Address target, Stream stream, grpc::Slice data) {
  MutexLock lock(mutex_);
  if (!status_.ok()) return;
  const std::size_t bytes = data.size();
  messages_.push_back(
      {.commands = {},
       .bytes = ToByteBuffer(BulkWritePrefix(stream, target, bytes), std::move(data)),
       .bulk = true});
  Push({.done = nullptr, .stream = stream, .bytes = bytes});
}

GrpcChannel::Message& GrpcChannel::Filling(std::uint64_t bytes) {
  const auto has_room = [&](const Message& message) {
    return !message.bulk && message.command_count < max_message_commands_ &&
           message.commands.size() + bytes + kMessageOverheadBytes <= max_message_bytes_;
  };
  if (messages_.empty() || !has_room(messages_.back())) messages_.emplace_back();
  return messages_.back();
}

void GrpcChannel::Push(Entry entry) {
  bytes_in_flight_ += entry.bytes;
  entries_.push_back(std::move(entry));
  ++messages_.back().command_count;
  MaybeWrite();
}

void GrpcChannel::Write(Address target, absl::Span<const std::byte> source, Stream stream,
                        std::shared_ptr<const void> host) {
  if (source.size() < kBulkBytes) {
    for (std::size_t offset = 0; offset < source.size(); offset += write_bytes_) {
      const auto chunk = source.subspan(offset, write_bytes_);
      WaitForRoom(chunk.size());
      Send({.stream = stream, .action = command::Write{.target = target + offset, .data = chunk}},
           nullptr, /*waits=*/false);
    }
    return;
  }
  const bool waits = host == nullptr;
  const auto departure = std::make_shared<Departure>(std::move(host));
  for (std::size_t offset = 0; offset < source.size(); offset += write_bytes_) {
    const auto chunk = source.subspan(offset, write_bytes_);
    WaitForRoom(chunk.size());
    AddBulk(target + offset, stream, Departure::Add(departure, chunk));
  }
  if (waits) departure->Wait();
}

std::uint64_t GrpcChannel::Read(absl::Span<std::byte> target, Address source, Stream stream,
                                bool keep_error, CopyDone done) {
  const std::size_t chunks = (target.size() + read_bytes_ - 1) / read_bytes_;
  const auto copy = std::make_shared<CopyJoin>(chunks, std::move(done));
  std::uint64_t number = 0;
  for (std::size_t offset = 0; offset < target.size(); offset += read_bytes_) {
    const auto chunk = target.subspan(offset, read_bytes_);
    const command::Read read{
        .source = source + offset, .size_bytes = chunk.size(), .keep_error = keep_error};
    WaitForRoom(chunk.size());
    number = Add({.stream = stream, .action = read}, chunk,
                 [copy](CommandResult result) { copy->Take(std::move(result.status)); });
  }
  return number;
}

void GrpcChannel::Wait(absl::FunctionRef<bool()> ready) {
  MutexLock lock(mutex_);
  changed_.Wait(mutex_, ready);
}

absl::StatusOr<std::shared_ptr<std::byte>> GrpcChannel::AllocateHost(std::uint64_t bytes) {
  return AllocateHostPages(bytes);
}

absl::StatusOr<std::shared_ptr<std::byte>> GrpcChannel::Map(Address, std::uint64_t) {
  return NoMappableMemory();
}

absl::StatusOr<ShareableHandle> GrpcChannel::ExportHandle(Address) { return NoDescriptors(); }

void GrpcChannel::MaybeWrite() {
  if (writing_ || messages_.empty() || ended_) return;
  Message& message = messages_.front();
  if (message.bulk) {
    request_ = std::move(message.bytes);
  } else {
    const grpc::Slice commands = ToSlice(std::move(message.commands));
    request_ = grpc::ByteBuffer(&commands, 1);
  }
  messages_.pop_front();
  writing_ = true;
  StartWrite(&request_);
}

void GrpcChannel::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  request_.Clear();
  if (!ok) ended_ = true;
  MaybeWrite();
}

std::optional<GrpcChannel::Entry> GrpcChannel::Take(std::uint64_t number) {
  MutexLock lock(mutex_);
  if (number < first_ || number - first_ >= entries_.size()) return std::nullopt;
  Entry& entry = entries_[number - first_];
  if (entry.finished) return std::nullopt;
  entry.finished = true;
  return std::move(entry);
}

void GrpcChannel::EndWrites() {
  {
    MutexLock lock(mutex_);
    ended_ = true;
  }
  RemoveHold();
}

void GrpcChannel::OnReadDone(bool ok) {
  if (!ok) return EndWrites();  // OnDone follows, with the reason.
  std::optional<BulkResult> bulk;
  if (response_.Length() >= kBulkBytes) bulk = FindBulkResult(PiecesOf(response_));
  if (bulk.has_value()) {
    TakeBulkResult(*bulk);
    FinishUpTo(bulk->finished_sequence);
  } else {
    v1::SubmitResponse response;
    if (!Parse(response_, response).ok()) {
      context_->TryCancel();
      return EndWrites();
    }
    for (v1::CommandResult& result : *response.mutable_results()) TakeResult(std::move(result));
    FinishUpTo(response.finished_sequence());
  }
  {
    MutexLock lock(mutex_);
    // Whoever waits for what the callbacks have set looks again.
    changed_.NotifyAll();
    if (HasMuchRoom()) room_.NotifyAll();
  }
  response_.Clear();
  StartRead(&response_);
}

void GrpcChannel::TakeResult(v1::CommandResult&& wire) {
  const std::uint64_t number = wire.sequence();
  std::optional<Entry> entry = Take(number);
  if (!entry.has_value()) return;
  CommandResult result = FromWire(std::move(wire));
  if (!entry->target.empty() && result.status.ok()) {
    Pieces data;
    if (const auto* bytes = std::get_if<std::string>(&result.value)) {
      data.emplace_back(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size());
    }
    result.status = CopyOut(data, entry->target);
  }
  Tell(number, *entry, std::move(result));
}

void GrpcChannel::TakeBulkResult(const BulkResult& bulk) {
  std::optional<Entry> entry = Take(bulk.sequence);
  if (!entry.has_value()) return;
  Tell(bulk.sequence, *entry, {.status = CopyOut(bulk.data, entry->target), .value = {}});
}

void GrpcChannel::Tell(std::uint64_t number, Entry& entry, CommandResult result) {
  if (entry.done) {
    entry.done(std::move(result));
  } else if (!result.status.ok()) {
    on_error_(number, entry.stream, result.status);
  }
}

void GrpcChannel::FinishUpTo(std::uint64_t number) {
  std::vector<Entry> finished;
  {
    MutexLock lock(mutex_);
    if (number < first_) return;
    const std::size_t count = std::min<std::uint64_t>(number - first_ + 1, entries_.size());
    finished.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      Entry& entry = entries_.front();
      bytes_in_flight_ -= entry.bytes;
      if (!entry.finished && entry.done) finished.push_back(std::move(entry));
      entries_.pop_front();
    }
    first_ += count;
  }
  for (Entry& entry : finished) {
    // A read without a result has not brought its bytes.
    CommandResult result;
    if (!entry.target.empty()) result.status = CopyOut({}, entry.target);
    entry.done(std::move(result));
  }
}

void GrpcChannel::OnDone(const grpc::Status& status) {
  const absl::Status why = WhyClosed(FromGrpcStatus(status));
  std::deque<Entry> unfinished;
  std::deque<Message> unsent;
  std::unique_ptr<grpc::ClientContext> context;
  {
    MutexLock lock(mutex_);
    std::swap(context, context_);
    status_ = why;
    std::swap(unfinished, entries_);
    std::swap(unsent, messages_);
    first_ += unfinished.size();
  }
  // Whoever waits until bytes have left goes on.
  unsent.clear();
  context.reset();
  for (Entry& entry : unfinished) {
    if (!entry.finished && entry.done) entry.done({.status = why, .value = {}});
  }
  MutexLock lock(mutex_);
  done_ = true;
  changed_.NotifyAll();
  room_.NotifyAll();
}

}  // namespace acceld
