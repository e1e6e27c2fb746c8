#include "backends/core/start_thread.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

#include "backends/core/status.h"

namespace acceld {

absl::StatusOr<std::thread> StartThread(const char* name, const char* whose, const char* what,
                                        std::function<void()> body) {
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  absl::StatusOr<std::thread> started;
  try {
    std::thread thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name);
    started = std::move(thread);
  } catch (const std::system_error& error) {
    started =
        DeviceError(fmt::format("{} cannot start its {} thread: {}.", whose, what, error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  return started;
}

}  // namespace acceld
