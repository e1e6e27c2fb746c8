#include "client/data_channel.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "backends/core/status.h"
#include "client/channel_closed.h"
#include "fmt/format.h"
#include "proto/frames/command_frame.h"

namespace acceld {
namespace {

// A sender waits beyond these.
constexpr std::size_t kMaxCommandsInFlight = 16384;
constexpr std::size_t kMaxAppendedBytes = 1 << 20;

// Results of one frame, but for the bytes of a read, fit into this.
constexpr std::size_t kBufferBytes = 64 * 1024;

// Of so many commands in flight the last may be answered any moment.
constexpr std::size_t kNearCommands = 4;

// A daemon at work makes room within this time.
constexpr std::chrono::nanoseconds kRoomSpin{50'000};

// Looks until `ready` holds, at most for `time`; whether it does.
template <typename Ready>
bool SpinFor(Ready ready, std::chrono::nanoseconds time) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      SpinPause();
    }
  } while (std::chrono::steady_clock::now() - start < time);
  return false;
}

}  // namespace

DataChannel::DataChannel(DataLink link, OnError on_error)
    : on_error_(std::move(on_error)),
      stream_(std::move(link.stream)),
      ring_(link.ring),
      welcome_(link.welcome),
      buffer_(kBufferBytes) {
  if (ring_ != nullptr) return;
  background_thread_ = std::thread([this] { SendInBackground(); });
  pthread_setname_np(background_thread_.native_handle(), "acceld-send");
}

DataChannel::~DataChannel() {
  // Whoever sleeps on the socket wakes up.
  shutdown(stream_->fd(), SHUT_RDWR);
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    background_.NotifyAll();
  }
  if (background_thread_.joinable()) background_thread_.join();
  Close(absl::CancelledError("The session has been closed."));
}

absl::Status DataChannel::status() const {
  if (!closed_.load(std::memory_order_acquire)) return absl::OkStatus();
  MutexLock lock(mutex_);
  return status_;
}

// ---- Sending ----

void DataChannel::WaitForRoom() {
  const auto has_room = [this] {
    return in_flight_.load(std::memory_order_relaxed) < kMaxCommandsInFlight &&
           appended_bytes_.load(std::memory_order_relaxed) < kMaxAppendedBytes;
  };
  if (has_room()) return;
  // Half empty before it goes on, so that it goes on with many at a time.
  Wait([this] {
    return closed_ ||
           (in_flight_ <= kMaxCommandsInFlight / 2 && appended_bytes_ <= kMaxAppendedBytes / 2);
  });
}

std::uint64_t DataChannel::Enter(Entry entry) {
  entries_.push_back(std::move(entry));
  in_flight_.store(entries_.size(), std::memory_order_relaxed);
  return first_ + entries_.size() - 1;
}

std::uint64_t DataChannel::Post(Entry entry, bool waits,
                                absl::FunctionRef<void(std::vector<std::byte>&)> append) {
  if (ring_ != nullptr) ring_->Nudge();
  MutexLock lock(mutex_);
  if (closed_) {
    const std::uint64_t number = first_ + entries_.size();
    const absl::Status status = status_;
    MutexUnlock unlock(mutex_);
    if (entry.done) entry.done({.status = status, .value = {}});
    return number;
  }
  TellFreedHosts();
  const std::uint64_t number = Enter(std::move(entry));
  append(appended_);
  appended_bytes_ = appended_.size();
  // Whoever sends goes on until nothing is left.
  if (sending_) return number;
  const bool idle = entries_.size() == 1;
  if (ring_ == nullptr && waits) return number;
  if (ring_ != nullptr || idle) {
    sending_ = true;
    SendAppended();
  } else {
    background_.NotifyOne();
  }
  return number;
}

void DataChannel::SendAppended() {
  while (!appended_.empty() && !closed_) {
    std::swap(appended_, batch_);
    appended_bytes_ = 0;
    {
      MutexUnlock unlock(mutex_);
      SendAll(batch_);
    }
    batch_.clear();
  }
  sending_ = false;
  if (waiting_ > 0) changed_.NotifyAll();
}

bool DataChannel::SendAll(absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const absl::StatusOr<std::size_t> sent = stream_->Write(bytes);
    if (!sent.ok()) {
      // What the daemon had to say before is still to be read, by whoever waits.
      shutdown(stream_->fd(), SHUT_WR);
      return false;
    }
    bytes.remove_prefix(*sent);
    if (*sent == 0) WaitForStream();
    if (closed_) return false;
  }
  return true;
}

void DataChannel::WaitForStream() {
  if (ring_ != nullptr) {
    if (SpinFor([this] { return stream_->Writable(); }, kRoomSpin)) return;
    // The kick for room wakes whoever receives, which may be this thread.
    MutexLock lock(mutex_);
    return WaitLocked([this] { return closed_ || !stream_->PrepareToWaitForRoom(); });
  }
  bool receives = false;
  {
    MutexLock lock(mutex_);
    receives = !std::exchange(receiving_, true);
  }
  pollfd polled{stream_->fd(), static_cast<short>(receives ? POLLIN | POLLOUT : POLLOUT), 0};
  poll(&polled, 1, -1);
  if (!receives) return;
  while (Receive()) {
  }
  MutexLock lock(mutex_);
  receiving_ = false;
  if (waiting_ > 0) changed_.NotifyAll();
}

void DataChannel::SendInBackground() {
  MutexLock lock(mutex_);
  while (true) {
    background_.Wait(mutex_, [this]() ACCELD_REQUIRES(mutex_) {
      return stopping_ || (!sending_ && !appended_.empty() && !closed_);
    });
    if (stopping_) return;
    sending_ = true;
    SendAppended();
  }
}

std::uint64_t DataChannel::EncodedBytes(const Command& command) const {
  std::vector<std::byte> frame;
  frames::Append(command, frame);
  return frame.size();
}

std::uint64_t DataChannel::Send(const Command& command, Done done, bool waits) {
  return Post({.done = std::move(done), .stream = command.stream}, waits,
              [&](std::vector<std::byte>& frames) { frames::Append(command, frames); });
}

void DataChannel::PostWrite(const Command& command, absl::Span<const std::byte> data) {
  MutexLock lock(mutex_);
  ++waiting_;
  changed_.Wait(mutex_, [this]() ACCELD_REQUIRES(mutex_) { return closed_ || !sending_; });
  --waiting_;
  if (closed_) return;
  sending_ = true;
  Enter({.done = nullptr, .stream = command.stream});
  frames::Append(command, appended_);
  std::swap(appended_, batch_);
  appended_bytes_ = 0;
  {
    MutexUnlock unlock(mutex_);
    // What others send meanwhile is appended, and goes behind the data.
    if (SendAll(batch_)) SendAll(data);
  }
  batch_.clear();
  SendAppended();
}

// ---- Receiving ----

void DataChannel::Wait(absl::FunctionRef<bool()> ready) {
  MutexLock lock(mutex_);
  if (!appended_.empty() && !sending_ && !closed_) {
    sending_ = true;
    SendAppended();
  }
  WaitLocked(ready);
}

void DataChannel::WaitLocked(absl::FunctionRef<bool()> ready) {
  ++waiting_;
  while (!ready()) {
    if (receiving_) {
      changed_.Wait(mutex_, [&]() ACCELD_REQUIRES(mutex_) { return !receiving_ || ready(); });
      continue;
    }
    receiving_ = true;
    {
      MutexUnlock unlock(mutex_);
      if (!Receive() && !closed_) Sleep();
    }
    receiving_ = false;
    if (waiting_ > 1) changed_.NotifyAll();
  }
  --waiting_;
}

void DataChannel::Sleep() {
  // An answer to much is not near, and the device may want this core.
  const bool is_near = in_flight_ <= kNearCommands;
  if (stream_->CheapToPoll() && is_near &&
      SpinFor([this] { return stream_->Readable(); }, spin_.value())) {
    return;
  }
  if (!stream_->PrepareToWaitForBytes()) return;
  const auto asleep = std::chrono::steady_clock::now();
  pollfd polled{stream_->fd(), POLLIN, 0};
  poll(&polled, 1, -1);
  if (is_near) spin_.Slept(std::chrono::steady_clock::now() - asleep);
  if (const absl::Status woken = stream_->WakeUp(); !woken.ok()) {
    // What came before the end comes first.
    while (Receive()) {
    }
    Close(woken);
  }
}

bool DataChannel::Receive() {
  if (closed_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const absl::StatusOr<std::size_t> bytes = stream_->Read(absl::MakeSpan(buffer_).subspan(end_));
  if (!bytes.ok()) {
    Close(bytes.status());
    return false;
  }
  end_ += *bytes;
  while (TakeFrame()) {
  }
  return *bytes > 0 && !closed_;
}

bool DataChannel::TakeFrame() {
  frames::Header header;
  if (closed_ || end_ - begin_ < sizeof header) return false;
  std::memcpy(&header, buffer_.data() + begin_, sizeof header);
  const auto kind = static_cast<frames::Kind>(header.kind);
  if (kind == frames::Kind::kData) {
    begin_ += sizeof header;
    TakeData(header);
    return true;
  }
  const std::size_t bytes = sizeof header + header.payload_bytes;
  if (bytes > buffer_.size()) {
    CloseMalformed("a frame that is too long");
    return false;
  }
  if (end_ - begin_ < bytes) return false;
  const auto payload =
      absl::MakeConstSpan(buffer_).subspan(begin_ + sizeof header, header.payload_bytes);
  begin_ += bytes;
  switch (kind) {
    case frames::Kind::kFinished:
      FinishUpTo(header.number);
      return true;
    case frames::Kind::kResult:
      TakeResult(header, payload);
      return true;
    case frames::Kind::kEnd: {
      const absl::StatusOr<CommandResult> end = frames::ToResult(header, payload);
      Close(end.ok() ? end->status : end.status());
      return false;
    }
    default:
      CloseMalformed(fmt::format("a frame of kind {}", header.kind));
      return false;
  }
}

void DataChannel::TakeResult(const frames::Header& header, absl::Span<const std::byte> payload) {
  absl::StatusOr<CommandResult> result = frames::ToResult(header, payload);
  if (!result.ok()) return CloseMalformed("a result that is malformed");
  Finish(header.number, *std::move(result));
}

void DataChannel::Finish(std::uint64_t number, CommandResult result) {
  Done done;
  Stream stream{0};
  bool reports = false;
  {
    MutexLock lock(mutex_);
    if (number < first_ || number - first_ >= entries_.size()) return;
    Entry& entry = entries_[number - first_];
    if (std::exchange(entry.finished, true)) return;
    done = std::move(entry.done);
    stream = entry.stream;
    reports = entry.reports || !done;
  }
  if (reports && !result.status.ok()) on_error_(number, stream, result.status);
  if (done) done(std::move(result));
}

void DataChannel::TakeData(const frames::Header& header) {
  absl::Span<std::byte> target;
  {
    MutexLock lock(mutex_);
    const std::uint64_t place = header.number - first_;
    if (header.number >= first_ && place < entries_.size() && !entries_[place].finished) {
      target = entries_[place].target;
    }
  }
  if (target.size() != header.payload_bytes) {
    return CloseMalformed(
        fmt::format("{} bytes of a read of {}", header.payload_bytes, target.size()));
  }
  const std::size_t buffered = std::min(target.size(), end_ - begin_);
  std::memcpy(target.data(), buffer_.data() + begin_, buffered);
  begin_ += buffered;
  target.remove_prefix(buffered);
  while (!target.empty()) {
    const absl::StatusOr<std::size_t> bytes = stream_->Read(target);
    if (!bytes.ok()) return Close(bytes.status());
    target.remove_prefix(*bytes);
    if (*bytes == 0) Sleep();
    if (closed_) return;
  }
  Finish(header.number, {});
}

void DataChannel::FinishUpTo(std::uint64_t number) {
  std::string_view wrong;
  {
    MutexLock lock(mutex_);
    if (number >= first_ + entries_.size()) wrong = "the end of a command that it was not sent";
    while (wrong.empty() && first_ <= number) {
      Entry& entry = entries_.front();
      if (!entry.finished && !entry.target.empty()) {
        wrong = "the end of a read without its bytes";
        break;
      }
      if (!entry.finished && entry.done) finished_.push_back(std::move(entry.done));
      entries_.pop_front();
      ++first_;
    }
    in_flight_.store(entries_.size(), std::memory_order_relaxed);
  }
  for (Done& done : finished_) done({});
  finished_.clear();
  if (!wrong.empty()) CloseMalformed(wrong);
}

void DataChannel::Close(absl::Status why) {
  std::deque<Entry> unfinished;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    status_ = WhyClosed(why);
    why = status_;
    closed_ = true;
    std::swap(unfinished, entries_);
    first_ += unfinished.size();
    in_flight_ = 0;
    appended_.clear();
    appended_bytes_ = 0;
  }
  shutdown(stream_->fd(), SHUT_RDWR);
  for (Entry& entry : unfinished) {
    if (!entry.finished && entry.done) entry.done({.status = why, .value = {}});
  }
  MutexLock lock(mutex_);
  changed_.NotifyAll();
}

void DataChannel::CloseMalformed(std::string_view what) {
  Close(absl::InternalError(fmt::format("The daemon has sent {}.", what)));
}

}  // namespace acceld
