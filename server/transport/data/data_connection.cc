#include "server/transport/data/data_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "backends/core/status.h"
#include "channel/descriptor_passing.h"
#include "channel/socket_stream.h"
#include "fmt/format.h"
#include "proto/frames/command_frame.h"
#include "proto/frames/pack.h"
#include "server/logging/logging.h"

namespace acceld {
namespace {

// How many commands are taken before what has come of them is sent, and before others get a turn.
constexpr int kCommandsPerFlush = 64;
// ... and how many bytes copied, so that the client works on them meanwhile.
constexpr std::uint64_t kBytesPerFlush = 128 << 10;
constexpr int kFlushesPerTurn = 8;

// A client that leaves more results than this unread is not read from.
constexpr std::size_t kMaxWaitingBytes = 1 << 20;

// Commands that have finished before an earlier one has; beyond, no more are taken.
constexpr std::uint64_t kMaxOutOfOrder = 1 << 16;

// Each piece of host memory has a descriptor.
constexpr std::size_t kMaxHostBlocks = 256;

// How long a client has to read why its session is over.
constexpr std::chrono::milliseconds kLingerTime{1000};

std::string TransportName(const Peer& peer, bool shared_memory) {
  if (shared_memory) return "shm";
  return peer.kind == Peer::Kind::kUnix ? "frames+unix" : "frames+tcp";
}

CommandResult Failed(absl::Status status) { return {.status = std::move(status), .value = {}}; }

}  // namespace

std::shared_ptr<DataConnection> DataConnection::Create(const Context& context, UniqueFd socket,
                                                       Peer peer) {
  return std::shared_ptr<DataConnection>(
      new DataConnection(context, std::move(socket), std::move(peer)));
}

DataConnection::DataConnection(const Context& context, UniqueFd socket, Peer peer)
    : context_(context),
      peer_(std::move(peer)),
      stream_(std::make_unique<SocketStream>(std::move(socket))),
      input_(context.limits.message_bytes),
      deadline_(Clock::now() + context.handshake_timeout) {}

DataConnection::~DataConnection() {
  if (ring_ == nullptr) return;
  stream_.reset();
  session_->ReturnHostBytes(RingStream::MemoryBytes(context_.limits.ring_bytes));
}

void DataConnection::Unuse() {
  if (uses_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  // Nobody else does any more, so it may go with this.
  const std::shared_ptr<DataConnection> self = std::move(self_);
}

void DataConnection::LetGo() {
  shutdown(stream_->fd(), SHUT_RDWR);
  if (session_ == nullptr) return;
  // A client may keep the descriptors of host memory, but not what is behind them. The rings, which
  // are small, stay: it may still have to read why it is over.
  if (!daemon_stops_) {
    for (const auto& [number, host] : hosts_) host->DiscardAtEnd();
  }
  session_->RemoveOnEnd(on_end_);
  session_->ReturnChannel();
  hold_ = {};
  Unuse();
}

// ---- The poller's turn ----

DataConnection::State DataConnection::Advance(bool readable) {
  if (ring_ != nullptr && readable) {
    // The socket of a ring brings nothing but its end.
    if (!ring_->WakeUp().ok()) return State::kClosed;
  }
  if (session_ended_ && phase_ == Phase::kOpen) {
    phase_ = Phase::kClosing;
    deadline_ = Clock::now() + kLingerTime;
  }
  if (phase_ == Phase::kClosing) return Linger();
  absl::Status status = phase_ == Phase::kHello ? TakeHello() : absl::OkStatus();
  bool busy = false;
  if (status.ok() && phase_ == Phase::kOpen) {
    absl::StatusOr<bool> more = TakeFrames();
    status = more.status();
    busy = more.ok() && *more;
  }
  if (status.ok() && stream_broken_) {
    status = InvalidArgument("The client's position in the ring it reads is beyond the ring.");
  }
  if (absl::IsUnavailable(status)) return State::kClosed;
  if (!status.ok()) {
    Close(status);
    return State::kIdle;
  }
  if (phase_ == Phase::kOpen) SetDeadline();
  return busy ? State::kBusy : State::kIdle;
}

bool DataConnection::PrepareToSleep() {
  // What is not wanted does not keep it awake.
  const bool nothing_comes = paused_ || stream_->PrepareToWaitForBytes();
  const bool nothing_goes = !wants_room() || output_->PrepareToWaitForRoom();
  return nothing_comes && nothing_goes;
}

void DataConnection::SetDeadline() {
  // What is not read because too much is in flight is not late.
  if (!input_.Partial() || paused_ || task_runs_) {
    deadline_.reset();
  } else if (!deadline_.has_value() || late_frame_ != output_->accepted() + 1) {
    late_frame_ = output_->accepted() + 1;
    deadline_ = Clock::now() + std::chrono::milliseconds(context_.limits.frame_timeout_ms);
  }
}

DataConnection::State DataConnection::OnDeadline() {
  if (phase_ != Phase::kOpen) return State::kClosed;
  Close(absl::DeadlineExceededError(fmt::format("The rest of a frame has not come within {} ms.",
                                                context_.limits.frame_timeout_ms)));
  return State::kIdle;
}

void DataConnection::Close(const absl::Status& why) {
  if (session_ != nullptr) {
    Log(LogLevel::kWarning, "data channel broken",
        {{"session", session_->info().id}, {"error", std::string(why.message())}});
    // Calls OnSessionEnd, which tells the client.
    context_.tasks.Add(
        [&sessions = context_.sessions, session = session_, why] { sessions.End(*session, why); });
  } else {
    if (!output_.has_value()) output_.emplace(*stream_);
    output_->End(why);
    (void)output_->Flush();
  }
  phase_ = Phase::kClosing;
  deadline_ = Clock::now() + kLingerTime;
}

DataConnection::State DataConnection::Linger() {
  if (output_.has_value()) Flush();
  std::array<std::byte, 4096> discarded;
  for (int i = 0; i < kFlushesPerTurn; ++i) {
    const auto bytes = stream_->Read(absl::MakeSpan(discarded));
    if (!bytes.ok()) return State::kClosed;
    if (*bytes == 0) return State::kIdle;
  }
  return State::kBusy;
}

// ---- Hello ----

absl::Status DataConnection::TakeHello() {
  // Small enough to come in one piece, but nothing says it does.
  const auto rest =
      absl::MakeSpan(reinterpret_cast<std::byte*>(&hello_), sizeof hello_).subspan(hello_bytes_);
  ACCELD_ASSIGN_OR_RETURN(const std::size_t bytes, stream_->Read(rest));
  hello_bytes_ += bytes;
  if (hello_bytes_ < sizeof hello_) return absl::OkStatus();
  return Attach(hello_);
}

absl::Status DataConnection::Attach(const frames::Hello& hello) {
  if (hello.version != frames::kVersion) {
    return UnsupportedError(
        fmt::format("The client's data channel is of version {}, the daemon's of version {}.",
                    hello.version, frames::kVersion),
        reason::kVersionUnsupported);
  }
  ACCELD_ASSIGN_OR_RETURN(
      std::shared_ptr<Session> session,
      context_.sessions.Find({hello.secret.data(), hello.secret.size()}, peer_));
  if (!session->TakeChannel()) {
    return NotInitialized("Another channel has the session; it takes one at a time.",
                          reason::kSessionBusy);
  }
  // From here on LetGo gives back what is taken.
  session_ = std::move(session);
  self_ = shared_from_this();
  hold_ = context_.sessions.Hold(*session_);
  ACCELD_RETURN_IF_ERROR(SayWelcome(hello.shared_memory != 0));
  session_->MoveTo(TransportName(peer_, ring_ != nullptr), peer_.connection_id);
  phase_ = Phase::kOpen;
  deadline_.reset();
  // Last, since it may call back at once.
  on_end_ = session_->OnEnd([weak = weak_from_this()](const absl::Status& why) {
    if (const auto self = weak.lock()) self->OnSessionEnd(why);
  });
  return absl::OkStatus();
}

absl::Status DataConnection::SayWelcome(bool shared_memory) {
  frames::Welcome welcome;
  std::optional<SealedMemory> rings;
  std::string note;
  if (shared_memory) {
    absl::StatusOr<SealedMemory> made = MakeRings();
    if (made.ok()) {
      rings = *std::move(made);
      welcome.ring_bytes = context_.limits.ring_bytes;
      welcome.staging_bytes = context_.limits.staging_bytes;
    } else {
      note = std::string(made.status().message());
    }
  }
  std::vector<std::byte> message;
  frames::Append(welcome, TransportName(peer_, rings.has_value()), note, message);
  const int socket = stream_->fd();
  if (rings.has_value()) {
    ACCELD_RETURN_IF_ERROR(SendWithDescriptor(socket, message, rings->fd()));
    auto ring = std::make_unique<RingStream>(RingStream::Side::kServer,
                                             static_cast<SocketStream&>(*stream_).Release(),
                                             *std::move(rings), welcome.ring_bytes);
    ring_ = ring.get();
    stream_ = std::move(ring);
  } else {
    ACCELD_ASSIGN_OR_RETURN(const std::size_t sent, stream_->Write(message));
    // A fresh connection has room for it, or its client is up to something.
    if (sent != message.size()) return absl::UnavailableError("The client takes no welcome.");
  }
  output_.emplace(*stream_);
  return absl::OkStatus();
}

absl::StatusOr<SealedMemory> DataConnection::MakeRings() {
  if (peer_.kind != Peer::Kind::kUnix) {
    return UnsupportedError("Memory can be shared over a Unix socket only.");
  }
  const std::uint64_t ring_bytes = context_.limits.ring_bytes;
  if (ring_bytes == 0) return UnsupportedError("The daemon is configured to share no memory.");
  const std::uint64_t bytes = RingStream::MemoryBytes(ring_bytes);
  ACCELD_RETURN_IF_ERROR(session_->TakeHostBytes(bytes));
  absl::StatusOr<SealedMemory> rings = SealedMemory::Create("acceld-rings", bytes);
  if (!rings.ok()) session_->ReturnHostBytes(bytes);
  return rings;
}

// ---- Commands ----

bool DataConnection::HasRoom() const {
  const SessionLimits& limits = context_.limits;
  return in_flight() < limits.commands_in_flight &&
         output_->accepted() - output_->finished_in_order() <
             limits.commands_in_flight + kMaxOutOfOrder &&
         held_bytes_ < limits.bytes_in_flight && output_->waiting_bytes() < kMaxWaitingBytes &&
         !output_->descriptor_waits();
}

bool DataConnection::MayGoOn() {
  if (task_runs_) return false;
  if (HasRoom()) return true;
  // Whoever makes room now calls, unless it was made before this.
  resume_wanted_ = true;
  return HasRoom() && resume_wanted_.exchange(false);
}

absl::StatusOr<bool> DataConnection::TakeFrames() {
  for (int i = 0; i < kFlushesPerTurn; ++i) {
    absl::StatusOr<std::size_t> taken = TakeSomeFrames();
    Flush();
    if (!taken.ok()) return taken.status();
    // To send may have made the room that was missing.
    if (*taken == 0) return paused_ && MayGoOn();
  }
  return true;
}

absl::StatusOr<std::size_t> DataConnection::TakeSomeFrames() {
  advancing_ = true;
  const absl::Cleanup stop = [this] { advancing_ = false; };
  std::size_t taken = 0;
  copied_bytes_ = 0;
  for (int i = 0; i < kCommandsPerFlush && copied_bytes_ < kBytesPerFlush; ++i) {
    paused_ = !MayGoOn();
    output_->TellAtOnce(paused_);
    if (paused_) return taken;
    ACCELD_ASSIGN_OR_RETURN(std::optional<FrameInput::Frame> frame, input_.Next());
    if (!frame.has_value()) {
      ACCELD_ASSIGN_OR_RETURN(const std::size_t bytes, input_.Fill(*stream_));
      if (bytes == 0) return taken;
      taken += bytes;
      continue;
    }
    ++taken;
    ACCELD_RETURN_IF_ERROR(TakeFrame(*std::move(frame)));
  }
  return taken;
}

absl::Status DataConnection::TakeFrame(FrameInput::Frame frame) {
  Use();
  absl::Status taken = TakeNumbered(output_->Accept(), std::move(frame));
  // Else the command's end does.
  if (!taken.ok()) Unuse();
  return taken;
}

absl::Status DataConnection::TakeNumbered(std::uint64_t number, FrameInput::Frame frame) {
  if (frame.header.kind <= frames::kCommandKinds) return TakeCommand(number, std::move(frame));
  const auto kind = static_cast<frames::Kind>(frame.header.kind);
  if (kind == frames::Kind::kExportHandle && peer_.kind == Peer::Kind::kUnix) {
    return ExportHandle(number, frame.fields);
  }
  if (ring_ != nullptr) {
    switch (kind) {
      case frames::Kind::kWriteShared:
      case frames::Kind::kReadShared:
        return TakeSharedCopy(number, frame);
      case frames::Kind::kAllocHost:
        return AllocHost(number, frame.fields);
      case frames::Kind::kFreeHost:
        return FreeHost(number, frame.fields);
      case frames::Kind::kMap:
        return Map(number, frame.fields);
      default:
        break;
    }
  }
  return InvalidArgument(
      fmt::format("A frame of kind {} is none that a client may send here.", frame.header.kind));
}

absl::Status DataConnection::TakeCommand(std::uint64_t number, FrameInput::Frame frame) {
  ACCELD_ASSIGN_OR_RETURN(Command command, frames::ToCommand(frame.header, frame.fields));
  if (auto* write = std::get_if<command::Write>(&command.action)) {
    copied_bytes_ += frame.data_bytes;
    std::shared_ptr<std::byte[]> owner(std::move(frame.data));
    write->data = {owner.get(), frame.data_bytes};
    write->owner = std::move(owner);
    session_->Submit(std::move(command), DoneOf(number, frame.data_bytes));
  } else if (std::holds_alternative<command::Read>(command.action)) {
    TakeRead(number, std::move(command));
  } else if (const auto* alloc = std::get_if<command::Alloc>(&command.action);
             alloc != nullptr &&
             (alloc->size_bytes > session_->quick_allocation_bytes() || alloc->openable)) {
    RunTask([this, number, command = std::move(command)]() mutable {
      session_->Submit(std::move(command), DoneOf(number, 0));
    });
  } else if (IsSynchronization(command)) {
    session_->Submit(std::move(command), [this, number](CommandResult result) {
      OnCommandDone(number, result, /*answer=*/true);
    });
  } else {
    session_->Submit(std::move(command), [this, number](CommandResult result) {
      OnCommandDone(number, result, /*answer=*/false);
    });
  }
  return absl::OkStatus();
}

void DataConnection::TakeRead(std::uint64_t number, Command command) {
  auto& read = std::get<command::Read>(command.action);
  const std::uint64_t limit =
      std::min<std::uint64_t>(context_.limits.read_bytes, frames::kMaxWriteBytes);
  if (read.size_bytes > limit) {
    return OnCommandDone(
        number,
        Failed(InvalidArgument(fmt::format("A read of {} bytes is over the limit of {} bytes.",
                                           read.size_bytes, limit),
                               reason::kLimitExceeded)),
        false);
  }
  copied_bytes_ += read.size_bytes;
  auto data = std::make_shared<DataFrame>(number, read.size_bytes, held_bytes_);
  read.target = data->data();
  session_->Submit(std::move(command), [this, data](CommandResult result) mutable {
    if (!result.status.ok()) {
      const std::uint64_t number = data->number();
      // It counts in this connection, which may end with its last command.
      data = nullptr;
      return OnCommandDone(number, result, false);
    }
    output_->Finish(std::move(data));
    AfterFinish();
  });
}

DataConnection::Done DataConnection::DoneOf(std::uint64_t number, std::uint64_t bytes) {
  held_bytes_ += bytes;
  return [this, number, bytes](CommandResult result) {
    held_bytes_ -= bytes;
    OnCommandDone(number, result, false);
  };
}

void DataConnection::OnCommandDone(std::uint64_t number, const CommandResult& result, bool answer) {
  output_->Finish(number, result, answer);
  AfterFinish();
}

void DataConnection::AfterFinish() {
  // Advance sends when it is done.
  if (advancing_) {
    ResumeIfRoom();
  } else {
    Flush();
  }
  Unuse();
}

void DataConnection::ResumeIfRoom() {
  if (resume_wanted_ && HasRoom() && in_flight() <= context_.limits.commands_in_flight / 2 &&
      resume_wanted_.exchange(false)) {
    context_.resume(*this);
  }
}

void DataConnection::Flush() {
  const absl::StatusOr<bool> changed = output_->Flush();
  // That the client is gone shows when the stream is read from.
  const bool broken = !changed.ok() && !absl::IsUnavailable(changed.status());
  if ((broken && !stream_broken_.exchange(true)) || (changed.ok() && *changed && !advancing_)) {
    context_.resume(*this);
  }
  // The bytes of reads make room once they are sent.
  ResumeIfRoom();
}

void DataConnection::OnSessionEnd(const absl::Status& why) {
  output_->End(why);
  (void)output_->Flush();
  daemon_stops_ = absl::IsUnavailable(why) || GetReason(why) == reason::kDeviceLost;
  session_ended_ = true;
  context_.resume(*this);
}

// ---- Shared memory ----

void DataConnection::RunTask(TaskThread::Task task) {
  task_runs_ = true;
  context_.tasks.Add([self = shared_from_this(), task = std::move(task)]() mutable {
    task();
    self->task_runs_ = false;
    self->context_.resume(*self);
  });
}

absl::Status DataConnection::TakeSharedCopy(std::uint64_t number, const FrameInput::Frame& frame) {
  ACCELD_ASSIGN_OR_RETURN(const frames::SharedCopy copy, frames::ToSharedCopy(frame.fields));
  const auto host = hosts_.find(copy.host);
  if (host == hosts_.end()) {
    return InvalidArgument(fmt::format("Host memory {} does not exist.", copy.host));
  }
  ACCELD_ASSIGN_OR_RETURN(const absl::Span<std::byte> bytes,
                          host->second->At(copy.host_offset, copy.size_bytes));
  copied_bytes_ += copy.size_bytes;
  Command command{.stream = Stream{frame.header.number}, .action = {}};
  if (static_cast<frames::Kind>(frame.header.kind) == frames::Kind::kWriteShared) {
    command.action = command::Write{.target = copy.address, .data = bytes, .owner = host->second};
  } else {
    command.action = command::Read{.source = copy.address,
                                   .size_bytes = copy.size_bytes,
                                   .keep_error = copy.keep_error,
                                   .target = bytes,
                                   .owner = host->second};
  }
  // Somebody waits for each of these: its memory is wanted for the next.
  session_->Submit(std::move(command), [this, number](CommandResult result) {
    OnCommandDone(number, result, /*answer=*/true);
  });
  return absl::OkStatus();
}

absl::Status DataConnection::AllocHost(std::uint64_t number, absl::Span<const std::byte> payload) {
  ACCELD_ASSIGN_OR_RETURN(const std::uint64_t bytes, frames::ToNumber(payload));
  RunTask([this, number, bytes] {
    absl::StatusOr<std::shared_ptr<const HostBlock>> block =
        hosts_.size() < kMaxHostBlocks
            ? HostBlock::Create(session_, bytes)
            : OutOfMemory(fmt::format("The session has {} pieces of host memory, its limit.",
                                      hosts_.size()),
                          reason::kLimitExceeded);
    absl::Status status = block.status();
    if (status.ok()) status = ring_->SendDescriptor((*block)->fd());
    if (!status.ok()) return OnCommandDone(number, Failed(std::move(status)), false);
    const Address host = next_host_++;
    hosts_.emplace(host, *std::move(block));
    OnCommandDone(number, {.status = {}, .value = host}, false);
  });
  return absl::OkStatus();
}

absl::Status DataConnection::FreeHost(std::uint64_t number, absl::Span<const std::byte> payload) {
  ACCELD_ASSIGN_OR_RETURN(const std::uint64_t host, frames::ToNumber(payload));
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) {
    return InvalidArgument(fmt::format("Host memory {} does not exist.", host));
  }
  found->second->DiscardAtEnd();
  context_.tasks.Add([freed = std::move(found->second)]() mutable { freed.reset(); });
  hosts_.erase(found);
  OnCommandDone(number, {}, false);
  return absl::OkStatus();
}

absl::Status DataConnection::Map(std::uint64_t number, absl::Span<const std::byte> payload) {
  ACCELD_ASSIGN_OR_RETURN(const std::uint64_t address, frames::ToNumber(payload));
  const absl::StatusOr<MappedMemory> mapped = session_->Map(address);
  absl::Status status = mapped.status();
  if (status.ok()) status = ring_->SendDescriptor(mapped->descriptor);
  // The size says no more than the client knows, but every such command has a value.
  CommandResult result{.status = std::move(status), .value = {}};
  if (result.status.ok()) result.value = Address{mapped->bytes.size()};
  OnCommandDone(number, result, false);
  return absl::OkStatus();
}

absl::Status DataConnection::ExportHandle(std::uint64_t number,
                                          absl::Span<const std::byte> payload) {
  ACCELD_ASSIGN_OR_RETURN(const std::uint64_t address, frames::ToNumber(payload));
  absl::StatusOr<ShareableHandle> handle = session_->ExportHandle(address);
  absl::Status status = handle.status();
  if (status.ok() && ring_ != nullptr) {
    status = ring_->SendDescriptor(handle->descriptor.get());
  }
  if (!status.ok()) {
    OnCommandDone(number, Failed(std::move(status)), false);
    return absl::OkStatus();
  }
  const CommandResult result{.status = {}, .value = Address{handle->size_bytes}};
  if (ring_ != nullptr) {
    OnCommandDone(number, result, false);
  } else {
    output_->Finish(number, result, std::move(handle->descriptor));
    AfterFinish();
  }
  return absl::OkStatus();
}

}  // namespace acceld
