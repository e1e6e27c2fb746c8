#include "server/stop_requests.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "server/logging/logging.h"

namespace acceld {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

StopRequests::StopRequests() {
  const sigset_t signals = StopSignals();
  signals_ = UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  wake_up_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void StopRequests::RequestDrain() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_up_.get(), &one, sizeof one);
}

void StopRequests::ReportLoss(const DeviceLoss& loss) {
  {
    MutexLock lock(mutex_);
    if (!loss_.has_value()) loss_ = loss;
  }
  RequestDrain();
}

std::optional<DeviceLoss> StopRequests::loss() const {
  MutexLock lock(mutex_);
  return loss_;
}

bool StopRequests::Wait(std::chrono::milliseconds timeout, bool signals_only) const {
  pollfd polled[] = {{signals_.get(), POLLIN, 0}, {wake_up_.get(), POLLIN, 0}};
  if (poll(polled, signals_only ? 1 : 2, static_cast<int>(timeout.count())) <= 0) return false;
  signalfd_siginfo info;
  if (polled[0].revents != 0 && read(signals_.get(), &info, sizeof info) == sizeof info) {
    Log(LogLevel::kInfo, "got a signal", {{"signal", strsignal(static_cast<int>(info.ssi_signo))}});
    return true;
  }
  return polled[1].revents != 0;
}

}  // namespace acceld
