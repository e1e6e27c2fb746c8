// What the daemon uses while nobody asks anything of it.

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/client.h"

namespace acceld::bench {
namespace {

constexpr int kSessions = 64;
constexpr std::chrono::seconds kTime{10};
constexpr std::chrono::milliseconds kQuickTime{100};
// Until what the opening of sessions set off is over.
constexpr std::chrono::milliseconds kSettleTime{500};

// The user and system time of a process, in seconds (proc(5), /proc/pid/stat).
absl::StatusOr<double> ProcessorSeconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // The second field is the program's name in parentheses; the times are the 14th and 15th.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  if (!(fields >> user >> system)) {
    return DeviceError(fmt::format("There are no times in /proc/{}/stat.", pid));
  }
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The daemon's processor time over 10 s in which 64 sessions over shared memory, each used once, do
// nothing, in percent of a core. One round: the kernel counts in hundredths of a second.
absl::StatusOr<Measurement> Idle(const Setting& setting) {
  const auto daemon = StartDaemon();
  std::vector<std::unique_ptr<RemoteBackend>> sessions;
  for (int i = 0; i < kSessions; ++i) {
    ACCELD_ASSIGN_OR_RETURN(sessions.emplace_back(), Open(*daemon, Route::kShm));
    ACCELD_RETURN_IF_ERROR(RoundTrip(sessions.back()->channel()));
  }
  std::this_thread::sleep_for(kSettleTime);
  ACCELD_ASSIGN_OR_RETURN(const double before, ProcessorSeconds(daemon->pid()));
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(setting.quick ? kQuickTime : kTime);
  ACCELD_ASSIGN_OR_RETURN(const double after, ProcessorSeconds(daemon->pid()));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  const double percent = 100 * (after - before) / time.count();
  return Measurement{.value = percent, .low = percent, .high = percent, .rounds = 1};
}

}  // namespace

std::vector<Figure> IdleFigures() { return {{"idle_cpu_percent", "%", "", Idle}}; }

}  // namespace acceld::bench
