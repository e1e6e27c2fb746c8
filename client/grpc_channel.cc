#include "client/grpc_channel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/context/handle_errors.h"
#include "backends/core/status.h"
#include "client/channel_closed.h"
#include "client/host_pages.h"
#include "fmt/format.h"
#include "proto/wire/command_wire.h"
#include "proto/wire/grpc_status.h"

namespace acceld {
namespace {

// A sender waits beyond these.
constexpr std::size_t kMaxCommandsInFlight = 65536;
constexpr std::uint64_t kMaxBytesInFlight = 32 << 20;

// A message is full at this many bytes, so that the daemon starts on it while the next is being
// made.
constexpr std::uint64_t kFullMessageBytes = 1 << 20;

// More than the encoding of any command takes besides the bytes of a write.
constexpr std::uint64_t kCommandBytes = 512;

// What one command brings or fetches at most, so that a large copy is pipelined.
constexpr std::uint64_t kCopyChunkBytes = 1 << 20;

std::uint64_t BytesOf(const Command& command) {
  if (const auto* write = std::get_if<command::Write>(&command.action)) return write->data.size();
  if (const auto* read = std::get_if<command::Read>(&command.action)) return read->size_bytes;
  return 0;
}

// What the commands of one copy to the host share: it is done when all have answered.
class HostCopy {
 public:
  HostCopy(std::size_t commands, CommandChannel::CopyDone done)
      : unfinished_(commands), done_(std::move(done)) {}

  void Take(absl::Span<std::byte> target, CommandResult result) {
    const auto* data = std::get_if<std::string>(&result.value);
    absl::Status status = std::move(result.status);
    if (status.ok() && (data == nullptr || data->size() != target.size())) {
      status = DeviceError(fmt::format("The daemon answered a read of {} bytes with {}.",
                                       target.size(), data == nullptr ? 0 : data->size()));
    }
    if (status.ok()) std::memcpy(target.data(), data->data(), target.size());
    MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
    if (--unfinished_ > 0) return;
    status = status_;
    MutexUnlock unlock(mutex_);
    done_(std::move(status));
  }

 private:
  Mutex mutex_;
  std::size_t unfinished_ ACCELD_GUARDED_BY(mutex_);
  absl::Status status_ ACCELD_GUARDED_BY(mutex_);
  CommandChannel::CopyDone done_;
};

}  // namespace

GrpcChannel::GrpcChannel(v1::Compute::Stub& stub, const std::string& secret,
                         const v1::Limits& limits, OnError on_error)
    : max_message_commands_(limits.message_commands()),
      max_message_bytes_(std::min(limits.message_bytes(), kFullMessageBytes)),
      write_bytes_(std::min(limits.message_bytes() - kMessageOverheadBytes, kCopyChunkBytes)),
      read_bytes_(std::min(limits.read_bytes(), kCopyChunkBytes)),
      on_error_(std::move(on_error)) {
  stub.async()->Submit(&context_, this);
  MutexLock lock(mutex_);
  requests_.emplace_back().set_session_secret(secret);
  StartRead(&response_);
  StartCall();
  MaybeWrite();
}

GrpcChannel::~GrpcChannel() {
  context_.TryCancel();
  MutexLock lock(mutex_);
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

void GrpcChannel::WaitForRoom(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  changed_.Wait(mutex_, [&]() ACCELD_REQUIRES(mutex_) { return !status_.ok() || HasRoom(bytes); });
}

std::uint64_t GrpcChannel::Send(const Command& command, Done done, bool /*waits*/) {
  MutexLock lock(mutex_);
  const std::uint64_t number = first_ + entries_.size();
  if (!status_.ok()) {
    const absl::Status status = status_;
    MutexUnlock unlock(mutex_);
    if (done) done({.status = status, .value = {}});
    return number;
  }
  const std::uint64_t bytes = BytesOf(command);
  const bool full = !requests_.empty() &&
                    (requests_.back().commands_size() >= static_cast<int>(max_message_commands_) ||
                     filling_bytes_ + kCommandBytes > max_message_bytes_);
  if (requests_.size() <= (writing_ ? 1u : 0u) || full) {
    requests_.emplace_back();
    filling_bytes_ = 0;
  }
  v1::Command& wire = *requests_.back().add_commands();
  ToWire(command, wire);
  filling_bytes_ += bytes + kCommandBytes;
  bytes_in_flight_ += bytes;
  entries_.push_back({.done = std::move(done), .stream = command.stream, .bytes = bytes});
  MaybeWrite();
  return number;
}

void GrpcChannel::Write(Address target, absl::Span<const std::byte> source, Stream stream,
                        std::shared_ptr<const void> /*host*/) {
  for (std::size_t offset = 0; offset < source.size(); offset += write_bytes_) {
    const auto chunk = source.subspan(offset, write_bytes_);
    WaitForRoom(chunk.size());
    Send({.stream = stream, .action = command::Write{.target = target + offset, .data = chunk}},
         nullptr, /*waits=*/false);
  }
}

std::uint64_t GrpcChannel::Read(absl::Span<std::byte> target, Address source, Stream stream,
                                bool keep_error, CopyDone done) {
  const std::size_t chunks = (target.size() + read_bytes_ - 1) / read_bytes_;
  const auto copy = std::make_shared<HostCopy>(chunks, std::move(done));
  std::uint64_t number = 0;
  for (std::size_t offset = 0; offset < target.size(); offset += read_bytes_) {
    const auto chunk = target.subspan(offset, read_bytes_);
    const command::Read read{
        .source = source + offset, .size_bytes = chunk.size(), .keep_error = keep_error};
    WaitForRoom(chunk.size());
    number = Send(
        {.stream = stream, .action = read},
        [copy, chunk](CommandResult result) { copy->Take(chunk, std::move(result)); },
        /*waits=*/false);
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

void GrpcChannel::MaybeWrite() {
  if (writing_ || requests_.empty() || !status_.ok()) return;
  writing_ = true;
  StartWrite(&requests_.front());
}

void GrpcChannel::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  requests_.pop_front();
  if (ok) MaybeWrite();
}

GrpcChannel::Entry* GrpcChannel::Find(std::uint64_t number) {
  if (number < first_ || number - first_ >= entries_.size()) return nullptr;
  return &entries_[number - first_];
}

void GrpcChannel::OnReadDone(bool ok) {
  if (!ok) return;  // OnDone follows, with the reason.
  for (v1::CommandResult& result : *response_.mutable_results()) TakeResult(std::move(result));
  FinishUpTo(response_.finished_sequence());
  {
    // Whoever waits for what the callbacks have set looks again.
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  }
  response_.Clear();
  StartRead(&response_);
}

void GrpcChannel::TakeResult(v1::CommandResult&& wire) {
  const std::uint64_t number = wire.sequence();
  Done done;
  Stream stream{0};
  {
    MutexLock lock(mutex_);
    Entry* entry = Find(number);
    if (entry == nullptr || entry->finished) return;
    entry->finished = true;
    done = std::move(entry->done);
    stream = entry->stream;
  }
  CommandResult result = FromWire(std::move(wire));
  if (done) {
    done(std::move(result));
  } else if (!result.status.ok()) {
    on_error_(number, stream, result.status);
  }
}

void GrpcChannel::FinishUpTo(std::uint64_t number) {
  std::deque<Done> finished;
  {
    MutexLock lock(mutex_);
    while (!entries_.empty() && first_ <= number) {
      Entry& entry = entries_.front();
      bytes_in_flight_ -= entry.bytes;
      if (!entry.finished && entry.done) finished.push_back(std::move(entry.done));
      entries_.pop_front();
      ++first_;
    }
  }
  for (Done& done : finished) done({});
}

void GrpcChannel::OnDone(const grpc::Status& status) {
  const absl::Status why = WhyClosed(FromGrpcStatus(status));
  std::deque<Entry> unfinished;
  {
    MutexLock lock(mutex_);
    status_ = why;
    std::swap(unfinished, entries_);
    first_ += unfinished.size();
  }
  for (Entry& entry : unfinished) {
    if (!entry.finished && entry.done) entry.done({.status = why, .value = {}});
  }
  MutexLock lock(mutex_);
  done_ = true;
  changed_.NotifyAll();
}

}  // namespace acceld
