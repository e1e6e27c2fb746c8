#include "server/session/session.h"

#include "backends/core/status.h"
#include "fmt/format.h"
#include "server/logging/logging.h"

namespace acceld {
namespace {

// The result of a command that returns a value, or failed.
template <typename T>
CommandResult ToResult(absl::StatusOr<T> value) {
  if (!value.ok()) return {.status = value.status(), .value = {}};
  return {.status = {}, .value = *std::move(value)};
}

CommandResult ToResult(absl::Status status) { return {.status = std::move(status), .value = {}}; }

}  // namespace

absl::StatusOr<std::shared_ptr<Session>> Session::Create(SessionInfo info, Device& device,
                                                         Scheduler& scheduler,
                                                         const SessionLimits& limits,
                                                         std::shared_ptr<MemoryAccount> memory) {
  const std::shared_ptr<Flow> flow = scheduler.AddFlow();
  const ContextLimits context_limits{.streams = limits.streams,
                                     .events = limits.events,
                                     .allocations = limits.allocations,
                                     .direct_opening = limits.direct_opening,
                                     .programs = {.programs = limits.programs,
                                                  .items = limits.program_items,
                                                  .bytes = limits.program_bytes}};
  ACCELD_ASSIGN_OR_RETURN(std::shared_ptr<DeviceContext> context,
                          DeviceContext::Create(device, flow, context_limits, std::move(memory)));
  info.supported_ops = device.supported_ops();
  return std::shared_ptr<Session>(
      new Session(std::move(info), device, flow, std::move(context), limits));
}

Session::Session(SessionInfo info, Device& device, std::shared_ptr<Flow> flow,
                 std::shared_ptr<DeviceContext> context, const SessionLimits& limits)
    : info_(std::move(info)),
      limits_(limits),
      device_(device),
      flow_(std::move(flow)),
      context_(std::move(context)),
      connection_id_(info_.peer.connection_id),
      transport_(info_.transport) {}

// ---- Commands ----

void Session::Submit(Command command, Done done) {
  ++in_flight_;
  if (refuses_) {
    absl::Status why;
    {
      MutexLock lock(mutex_);
      why = refusal_;
    }
    return Finish(done, ToResult(std::move(why)));
  }
  std::visit([&](auto& action) { Do(action, command.stream, std::move(done)); }, command.action);
}

void Session::Refuse(const absl::Status& why) {
  MutexLock lock(mutex_);
  if (refuses_) return;
  refusal_ = why;
  refuses_ = true;
}

bool Session::TakeBytes(std::uint64_t bytes) {
  std::uint64_t held = held_bytes_;
  do {
    if (held > 0 && (held >= limits_.bytes_in_flight || bytes > limits_.bytes_in_flight - held)) {
      return false;
    }
  } while (!held_bytes_.compare_exchange_weak(held, held + bytes));
  return true;
}

absl::Status Session::TakeHostBytes(std::uint64_t bytes) {
  std::uint64_t held = host_bytes_;
  do {
    if (bytes > limits_.host_bytes || held > limits_.host_bytes - bytes) {
      return OutOfMemory(
          fmt::format("The session shares {} bytes of host memory with the daemon already; {} more "
                      "are beyond its limit of {}.",
                      held, bytes, limits_.host_bytes),
          reason::kLimitExceeded);
    }
  } while (!host_bytes_.compare_exchange_weak(held, held + bytes));
  return absl::OkStatus();
}

bool Session::RegisterHost(std::byte* data, std::uint64_t bytes) {
  const absl::Status registered = device_.RegisterHost(data, bytes);
  if (!registered.ok() && !stages_.exchange(true)) {
    Log(LogLevel::kWarning, "copies of the session's host memory are staged",
        {{"session", info_.id}, {"error", std::string(registered.message())}});
  }
  return registered.ok();
}

void Session::MoveTo(std::string_view transport, std::uint64_t connection_id) {
  MutexLock lock(mutex_);
  transport_ = transport;
  connection_id_ = connection_id;
}

void Session::Finish(Done& done, CommandResult result) {
  done(std::move(result));
  --in_flight_;
}

DeviceContext::Done Session::StatusDone(Done done) {
  return [self = shared_from_this(), done = std::move(done)](absl::Status status) mutable {
    self->Finish(done, ToResult(std::move(status)));
  };
}

void Session::FailUnless(absl::Status submitted, DeviceContext::Done& done) {
  if (!submitted.ok()) done(std::move(submitted));
}

void Session::Do(command::Run& run, Stream stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->Run(std::move(run.op), stream, std::move(ended)), ended);
}

void Session::Do(command::Write& write, Stream stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(
      context_->Write(write.target, write.data, stream, std::move(write.owner), std::move(ended)),
      ended);
}

void Session::Do(command::Read& read, Stream stream, Done done) {
  if (!read.target.empty()) {
    DeviceContext::Done ended = StatusDone(std::move(done));
    return FailUnless(context_->Read(read.target, read.source, stream, !read.keep_error,
                                     std::move(read.owner), std::move(ended)),
                      ended);
  }
  if (read.size_bytes > limits_.read_bytes) {
    return Finish(done,
                  ToResult(InvalidArgument(
                      fmt::format("A read of {} bytes is over the limit of {} bytes a command.",
                                  read.size_bytes, limits_.read_bytes),
                      reason::kLimitExceeded)));
  }
  auto data = std::make_shared<std::string>(read.size_bytes, '\0');
  const auto target = absl::MakeSpan(reinterpret_cast<std::byte*>(data->data()), data->size());
  DeviceContext::Done ended = [self = shared_from_this(), data,
                               done = std::move(done)](absl::Status status) mutable {
    if (!status.ok()) return self->Finish(done, ToResult(std::move(status)));
    self->Finish(done, {.status = {}, .value = std::move(*data)});
  };
  FailUnless(context_->Read(target, read.source, stream, !read.keep_error, data, std::move(ended)),
             ended);
}

void Session::Do(command::Alloc& alloc, Stream, Done done) {
  const AllocOptions options{.mappable = alloc.mappable, .openable = alloc.openable};
  Finish(done, ToResult(context_->Alloc(alloc.size_bytes, options, alloc.address)));
}

void Session::Do(command::Free& free, Stream, Done done) {
  Finish(done, ToResult(context_->Free(free.address)));
}

void Session::Do(command::CreateStream& create, Stream, Done done) {
  Finish(done, ToResult(context_->CreateStream({.priority = create.priority}, create.stream)));
}

void Session::Do(command::DestroyStream&, Stream stream, Done done) {
  Finish(done, ToResult(context_->DestroyStream(stream)));
}

void Session::Do(command::CreateEvent& create, Stream, Done done) {
  Finish(done, ToResult(context_->CreateEvent(create.event)));
}

void Session::Do(command::DestroyEvent& destroy, Stream, Done done) {
  Finish(done, ToResult(context_->DestroyEvent(destroy.event)));
}

void Session::Do(command::RecordEvent& record, Stream stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->RecordEvent(record.event, stream, std::move(ended)), ended);
}

void Session::Do(command::WaitEvent& wait, Stream stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->WaitEvent(stream, wait.event, std::move(ended)), ended);
}

void Session::Do(command::QueryEvent& query, Stream, Done done) {
  Finish(done, ToResult(context_->QueryEvent(query.event)));
}

void Session::Do(command::SynchronizeEvent& synchronize, Stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->SynchronizeEvent(synchronize.event, std::move(ended)), ended);
}

void Session::Do(command::ElapsedTime& elapsed, Stream, Done done) {
  Finish(done, ToResult(context_->ElapsedTime(elapsed.start, elapsed.stop)));
}

void Session::Do(command::DefineProgram& define, Stream, Done done) {
  Finish(done, ToResult(context_->DefineProgram(std::move(define.items), define.program)));
}

void Session::Do(command::Replay& replay, Stream stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->Replay(replay.program, replay.rebindings, stream, std::move(ended)), ended);
}

void Session::Do(command::DestroyProgram& destroy, Stream, Done done) {
  Finish(done, ToResult(context_->DestroyProgram(destroy.program)));
}

void Session::Do(command::SynchronizeStream&, Stream stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->SynchronizeStream(stream, std::move(ended)), ended);
}

void Session::Do(command::Synchronize&, Stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->Synchronize(std::move(ended)), ended);
}

void Session::Do(command::NoOp&, Stream stream, Done done) {
  DeviceContext::Done ended = StatusDone(std::move(done));
  FailUnless(context_->NoOp(stream, std::move(ended)), ended);
}

// ---- Life ----

void Session::End(const absl::Status& cause) {
  const absl::Status why =
      GetReason(cause).empty() ? WithReason(cause, reason::kSessionEnded) : cause;
  {
    MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = true;
    end_ = why;
  }
  // The context first, so that it hands the flow nothing more.
  context_->Close();
  flow_->Cancel();
  // One by one, so that RemoveOnEnd can still take out those that were not called yet.
  while (true) {
    decltype(callbacks_)::node_type next;
    {
      MutexLock lock(mutex_);
      if (callbacks_.empty()) return;
      next = callbacks_.extract(callbacks_.begin());
    }
    next.mapped()(why);
  }
}

std::uint64_t Session::OnEnd(absl::AnyInvocable<void(const absl::Status&)> callback) {
  absl::Status why;
  {
    MutexLock lock(mutex_);
    if (!ended_) {
      callbacks_.emplace(next_callback_, std::move(callback));
      return next_callback_++;
    }
    why = end_;
  }
  callback(why);
  return 0;
}

void Session::RemoveOnEnd(std::uint64_t number) {
  decltype(callbacks_)::node_type removed;  // Outlives the lock: it may hold the last of something.
  MutexLock lock(mutex_);
  removed = callbacks_.extract(number);
}

}  // namespace acceld
