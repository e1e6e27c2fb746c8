// Commands over a data channel (proto/frames/frame.h): frames on a socket, or in rings of shared
// memory.
//
// No thread waits for answers: who waits for one reads for everybody, one thread at a time, and
// runs the callbacks. What is sent goes out in the call: into a ring at once, and into a socket
// where nothing is under way. While something is, a thread of the channel's sends the next batch
// when the last one is out, unless a caller that waits does so first.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "backends/core/mutex.h"
#include "channel/spin_time.h"
#include "client/command_channel.h"
#include "client/data_link.h"
#include "client/staging.h"

namespace acceld {

class DataChannel final : public CommandChannel {
 public:
  DataChannel(DataLink link, OnError on_error);
  // Ends the session: what is not finished is cancelled.
  ~DataChannel() override;

  std::uint64_t EncodedBytes(const Command& command) const override;
  void WaitForRoom() override;
  std::uint64_t Send(const Command& command, Done done, bool waits) override;
  void Write(Address target, absl::Span<const std::byte> source, Stream stream,
             std::shared_ptr<const void> host) override;
  std::uint64_t Read(absl::Span<std::byte> target, Address source, Stream stream, bool keep_error,
                     CopyDone done) override;
  void Wait(absl::FunctionRef<bool()> ready) override;
  absl::StatusOr<std::shared_ptr<std::byte>> AllocateHost(std::uint64_t bytes) override;
  bool CanMap() const override { return ring_ != nullptr; }
  absl::StatusOr<std::shared_ptr<std::byte>> Map(Address address,
                                                 std::uint64_t size_bytes) override;
  bool BringsDescriptors() const override { return stream_->BringsDescriptors(); }
  absl::StatusOr<ShareableHandle> ExportHandle(Address address) override;
  absl::Status status() const override;

 private:
  // A command that is not finished, or whose result came before those of earlier ones.
  struct Entry {
    Done done;
    Stream stream{0};
    // Where the bytes of a read go, if they come in a frame.
    absl::Span<std::byte> target{};
    // Whether OnError is told of an error though there is a callback.
    bool reports = false;
    bool finished = false;
  };

  // Memory of AllocateHost.
  struct Host {
    std::uint64_t number = 0;
    SealedMemory memory;
  };

  // Numbers of host memory that nobody uses any more; outlives the channel in deleters.
  class FreedHosts {
   public:
    void Add(std::uint64_t number) {
      MutexLock lock(mutex_);
      numbers_.push_back(number);
      any_ = true;
    }
    std::vector<std::uint64_t> TakeAll() {
      if (!any_) return {};
      MutexLock lock(mutex_);
      any_ = false;
      return std::exchange(numbers_, {});
    }

   private:
    std::atomic<bool> any_{false};
    Mutex mutex_;
    std::vector<std::uint64_t> numbers_ ACCELD_GUARDED_BY(mutex_);
  };

  // ---- Sending ----

  // Sends a command whose frame `append` appends to a buffer. Returns its number.
  std::uint64_t Post(Entry entry, bool waits,
                     absl::FunctionRef<void(std::vector<std::byte>&)> append)
      ACCELD_EXCLUDES(mutex_);
  // Sends a command that brings `data`, out of the caller's memory.
  void PostWrite(const Command& command, absl::Span<const std::byte> data) ACCELD_EXCLUDES(mutex_);
  // The number of a command that comes next; its frame has to be appended.
  std::uint64_t Enter(Entry entry) ACCELD_REQUIRES(mutex_);
  // Sends what is appended, in this thread. Comes with `sending_` set, and ends with it cleared.
  void SendAppended() ACCELD_REQUIRES(mutex_);
  // Sends all of `bytes`; false where the channel is closed. The caller has set `sending_`.
  bool SendAll(absl::Span<const std::byte> bytes) ACCELD_EXCLUDES(mutex_);
  // Waits until the stream takes more; reads meanwhile, since the daemon may wait for that.
  void WaitForStream() ACCELD_EXCLUDES(mutex_);
  void SendInBackground();

  // ---- Receiving; one thread at a time has `receiving_` ----

  void WaitLocked(absl::FunctionRef<bool()> ready) ACCELD_REQUIRES(mutex_);
  // Handles what has come; false where there was nothing.
  bool Receive();
  // Waits until something may have come, or whatever else the peer wakes this side for.
  void Sleep();
  // Handles the frame at the start of the buffer; false where it is not complete.
  bool TakeFrame();
  void TakeResult(const frames::Header& header, absl::Span<const std::byte> payload);
  // Receives the bytes of a read, of which the first ones are in the buffer.
  void TakeData(const frames::Header& header);
  void FinishUpTo(std::uint64_t number);
  // Ends entry `number`, if it is not ended.
  void Finish(std::uint64_t number, CommandResult result);
  void Close(absl::Status why) ACCELD_EXCLUDES(mutex_);
  // The same where the daemon breaks the rules.
  void CloseMalformed(std::string_view what);

  // ---- Copies ----

  // In one command, of memory that both sides share.
  void WriteHost(Address target, absl::Span<const std::byte> source, Stream stream,
                 const Host& shared, std::shared_ptr<const void> host);
  std::uint64_t ReadHost(absl::Span<std::byte> target, Address source, Stream stream,
                         bool keep_error, const Host& shared, CopyDone done);
  // Slot by slot.
  void WriteStaged(Staging& staging, Address target, absl::Span<const std::byte> source,
                   Stream stream);
  std::uint64_t ReadStaged(Staging& staging, absl::Span<std::byte> target, Address source,
                           Stream stream, bool keep_error, CopyDone done);
  std::uint64_t PostReadShared(const frames::SharedCopy& copy, Stream stream, Done done);
  // Waits for a free slot; nothing where the channel is closed.
  std::optional<Staging::Slot> TakeSlot(Staging& staging);

  // ---- Shared memory ----

  // The staging memory, made at its first use. Null where there is none to be had.
  Staging* GetStaging();
  // What a command that brings a descriptor returns.
  struct Described {
    absl::Status status;
    Address value = 0;
    UniqueFd descriptor;
  };
  Described AskForDescriptor(frames::Kind kind, std::uint64_t number);
  absl::StatusOr<std::shared_ptr<const Host>> NewHost(std::uint64_t bytes);
  // The host memory that `bytes` lie in; null where in none.
  std::shared_ptr<const Host> FindHost(absl::Span<const std::byte> bytes) const;
  // Sends the end of host memory that nobody uses any more, with what comes next.
  void TellFreedHosts() ACCELD_REQUIRES(mutex_);

  const OnError on_error_;
  const std::unique_ptr<ByteStream> stream_;
  RingStream* const ring_;
  const frames::Welcome welcome_;

  mutable Mutex mutex_;
  // `sending_` or `receiving_` was given up, or a callback has run.
  CondVar changed_;
  int waiting_ ACCELD_GUARDED_BY(mutex_) = 0;
  // By number; the first is `first_`.
  std::deque<Entry> entries_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t first_ ACCELD_GUARDED_BY(mutex_) = 1;
  // Frames that wait to be sent.
  std::vector<std::byte> appended_ ACCELD_GUARDED_BY(mutex_);
  bool sending_ ACCELD_GUARDED_BY(mutex_) = false;
  bool receiving_ ACCELD_GUARDED_BY(mutex_) = false;
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  absl::Status status_ ACCELD_GUARDED_BY(mutex_);
  // What the others say, to look at without the lock.
  std::atomic<std::size_t> in_flight_{0};
  std::atomic<std::size_t> appended_bytes_{0};
  std::atomic<bool> closed_{false};

  // Of the thread that sends.
  std::vector<std::byte> batch_;
  // Of the thread that receives.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::vector<Done> finished_;
  // Twice the daemon's: to wake it, and then this side, takes so long.
  SpinTime spin_{std::chrono::microseconds(200)};

  const std::shared_ptr<FreedHosts> freed_hosts_ = std::make_shared<FreedHosts>();
  // Of reads whose bytes come in frames.
  std::atomic<std::uint64_t> read_bytes_{0};

  mutable Mutex hosts_mutex_;
  // By first byte.
  absl::btree_map<const std::byte*, std::weak_ptr<const Host>> hosts_
      ACCELD_GUARDED_BY(hosts_mutex_);
  Mutex staging_mutex_;
  bool staging_tried_ ACCELD_GUARDED_BY(staging_mutex_) = false;
  std::optional<Staging> staging_ ACCELD_GUARDED_BY(staging_mutex_);

  // On sockets.
  CondVar background_;
  std::thread background_thread_;
};

}  // namespace acceld
