#include "server/transport/acceptor.h"

#include <utility>

#include "backends/core/status.h"
#include "server/transport/acceptor_loop.h"

namespace acceld {

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(std::vector<Listener> listeners,
                                                          std::vector<Protocol> protocols,
                                                          ConnectionTable* table,
                                                          AcceptorOptions options) {
  ACCELD_ASSIGN_OR_RETURN(
      std::unique_ptr<AcceptLoop> loop,
      AcceptLoop::Create(std::move(listeners), std::move(protocols), table, options));
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(loop), std::move(options)));
}

Acceptor::Acceptor(std::unique_ptr<AcceptLoop> loop, AcceptorOptions options)
    : loop_(std::move(loop)), on_stats_(std::move(options.on_stats)) {
  MutexLock lock(join_mutex_);
  thread_ = std::thread([this] { Run(); });
}

Acceptor::~Acceptor() { Close(); }

void Acceptor::Run() {
  Phase reached = Phase::kAccepting;
  AcceptorStats reported;
  while (reached != Phase::kClosed) {
    loop_->RunOnce();
    Phase requested;
    {
      MutexLock lock(mutex_);
      requested = requested_;
    }
    if (requested >= Phase::kStopped && reached < Phase::kStopped) loop_->StopAccepting();
    if (requested == Phase::kClosed) loop_->ForgetAll();
    reached = requested;

    const AcceptorStats stats = loop_->stats();
    {
      MutexLock lock(mutex_);
      stats_ = stats;
    }
    if (on_stats_ && !(stats == reported)) on_stats_(stats);
    reported = stats;

    MutexLock lock(mutex_);
    reached_ = reached;
    reached_changed_.NotifyAll();
  }
}

void Acceptor::Request(Phase phase) {
  MutexLock lock(mutex_);
  if (requested_ < phase) requested_ = phase;
  loop_->Wake();
  reached_changed_.Wait(mutex_, [this, phase] { return reached_ >= phase; });
}

void Acceptor::Stop() { Request(Phase::kStopped); }

void Acceptor::Close() {
  Request(Phase::kClosed);
  MutexLock lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

AcceptorStats Acceptor::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

}  // namespace acceld
