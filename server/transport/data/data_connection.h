// The daemon's end of a data channel (proto/frames/frame.h): a client's commands, taken as they
// arrive and answered as they finish.
//
// The life of a connection:
//  1. It brings a Hello. Attach finds the session whose secret that shows, takes its one place of a
//     command channel, and holds it; on the same host the streams of bytes may become rings.
//  2. Advance takes in what has arrived, cuts it into frames (FrameInput), and submits a command of
//     each to the session. Where too much is in flight it pauses, and nothing more is read.
//  3. The session calls back for each, from any thread, in any order; FrameOutput sends the
//  results.
//     What the commands of one Advance have to say leaves together.
//  4. It ends when the client closes the socket, breaks the rules (its session ends too), or the
//     session ends.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "channel/byte_stream.h"
#include "channel/ring_stream.h"
#include "server/session/session_table.h"
#include "server/transport/data/frame_input.h"
#include "server/transport/data/frame_output.h"
#include "server/transport/data/host_block.h"
#include "server/transport/data/task_thread.h"
#include "server/transport/peer.h"

namespace acceld {

// Methods are for the poller's thread, unless said otherwise.
class DataConnection final : public std::enable_shared_from_this<DataConnection> {
 public:
  using Clock = std::chrono::steady_clock;

  // What every connection needs. All outlive it.
  struct Context {
    SessionTable& sessions;
    const SessionLimits& limits;
    TaskThread& tasks;
    // How long a client may take to send its Hello.
    std::chrono::milliseconds handshake_timeout;
    // Has the poller look at a connection again. Any thread may call it.
    absl::AnyInvocable<void(DataConnection&) const> resume;
  };

  enum class State : std::uint8_t {
    kIdle,    // nothing to do until more arrives, or Context::resume
    kBusy,    // there is more to do at once
    kClosed,  // over; to be let go
  };

  static std::shared_ptr<DataConnection> Create(const Context& context, UniqueFd socket, Peer peer);
  ~DataConnection();

  // Does what there is to do, some of it. `readable` says that the descriptor was.
  State Advance(bool readable);

  const Peer& peer() const { return peer_; }
  ByteStream& stream() { return *stream_; }
  // Whether to watch the descriptor for bytes, and for room.
  bool wants_input() const { return !paused_; }
  bool wants_room() const { return output_.has_value() && output_->waits_for_room(); }
  // How many commands are taken and not finished; only once it is open.
  std::uint64_t in_flight() const { return output_->accepted() - output_->finished_count(); }
  // Whether bytes that are wanted, or room, are there. Only where that is cheap to tell.
  bool MayGoOnAtOnce() {
    return (wants_input() && stream_->Readable()) || (wants_room() && output_->HasRoom());
  }
  // Comes before the poller waits for a ring's descriptor. False where there is something to do.
  bool PrepareToSleep();

  // Until when what is missing has to come; nothing where all is well.
  std::optional<Clock::time_point> deadline() const { return deadline_; }
  // What is missing has not come.
  State OnDeadline();

  // Comes once, when Advance has said kClosed: closes the socket and lets go of the session, which
  // takes time. Any thread may call it. Commands that still run keep the object.
  void LetGo();

 private:
  using Done = Session::Done;

  enum class Phase : std::uint8_t { kHello, kOpen, kClosing };

  DataConnection(const Context& context, UniqueFd socket, Peer peer);

  // Each returns an error where the connection cannot go on, which ends its session too.
  absl::Status TakeHello();
  absl::Status Attach(const frames::Hello& hello);
  absl::Status SayWelcome(bool shared_memory);
  absl::StatusOr<SealedMemory> MakeRings();
  // Whether there may be more at once.
  absl::StatusOr<bool> TakeFrames();
  // How much was done; 0 where there is nothing to do.
  absl::StatusOr<std::size_t> TakeSomeFrames();
  absl::Status TakeFrame(FrameInput::Frame frame);
  absl::Status TakeNumbered(std::uint64_t number, FrameInput::Frame frame);
  absl::Status TakeCommand(std::uint64_t number, FrameInput::Frame frame);
  void TakeRead(std::uint64_t number, Command command);
  absl::Status TakeSharedCopy(std::uint64_t number, const FrameInput::Frame& frame);
  absl::Status AllocHost(std::uint64_t number, absl::Span<const std::byte> payload);
  absl::Status FreeHost(std::uint64_t number, absl::Span<const std::byte> payload);
  // Tells the client why it is over, and its session with it.
  void Close(const absl::Status& why);
  absl::Status Map(std::uint64_t number, absl::Span<const std::byte> payload);
  absl::Status ExportHandle(std::uint64_t number, absl::Span<const std::byte> payload);
  // Discards what still comes until the client, which has been told why, closes.
  State Linger();

  bool HasRoom() const;
  // Whether another command may be taken; if not, Context::resume is called when it may.
  bool MayGoOn();
  // Carries out a command on the task thread, before any other is taken.
  void RunTask(TaskThread::Task task);
  // The callback of a command that holds `bytes` bytes until it is done.
  Done DoneOf(std::uint64_t number, std::uint64_t bytes);
  // From any thread.
  void OnCommandDone(std::uint64_t number, const CommandResult& result, bool answer);
  void AfterFinish();
  // Has the poller go on where it waits for room and there is some.
  void ResumeIfRoom();
  void OnSessionEnd(const absl::Status& why);
  void Flush();
  void SetDeadline();
  // Counts who uses this object besides the poller and its tasks: the commands in flight, and the
  // session until it is let go.
  void Use() { uses_.fetch_add(1, std::memory_order_relaxed); }
  void Unuse();

  const Context& context_;
  const Peer peer_;
  std::unique_ptr<ByteStream> stream_;
  // `stream_`, where it is one.
  RingStream* ring_ = nullptr;
  frames::Hello hello_;
  std::size_t hello_bytes_ = 0;
  FrameInput input_;
  std::optional<FrameOutput> output_;
  Phase phase_ = Phase::kHello;
  bool paused_ = false;
  std::optional<Clock::time_point> deadline_;
  // The number of the frame that `deadline_` is for.
  std::uint64_t late_frame_ = 0;

  std::shared_ptr<Session> session_;
  SessionHold hold_;
  std::uint64_t on_end_ = 0;
  // By the commands taken since the last flush.
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t next_host_ = 1;
  absl::flat_hash_map<std::uint64_t, std::shared_ptr<const HostBlock>> hosts_;

  // Of commands in flight.
  std::atomic<std::uint64_t> held_bytes_{0};
  // Set while Advance submits: it sends what comes of it, all at once.
  std::atomic<bool> advancing_{false};
  // Whether Context::resume is to be called once there is room.
  std::atomic<bool> resume_wanted_{false};
  // Whether a task of the TaskThread's carries out the last command, before which no other is
  // taken.
  std::atomic<bool> task_runs_{false};
  std::atomic<bool> session_ended_{false};
  // Whether that is the daemon's doing: what a client has fetched into host memory stays readable.
  std::atomic<bool> daemon_stops_{false};
  // Whether the client broke the stream's rules, so that nothing can be sent.
  std::atomic<bool> stream_broken_{false};
  std::atomic<std::uint64_t> uses_{1};
  // Itself, while it is used.
  std::shared_ptr<DataConnection> self_;
};

}  // namespace acceld
