#include "tests/testing/daemon_process.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace acceld::testing {
namespace {

constexpr char kListening[] = "listening on ";

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

// In the child: becomes the daemon, with its standard output going to `output`.
[[noreturn]] void BecomeDaemon(std::vector<std::string> arguments, std::optional<int> core,
                               int output) {
  // It must not outlive a test that crashes.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output, STDOUT_FILENO);
  if (core.has_value()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(*core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) Die("sched_setaffinity");
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  Die(argv[0]);
}

}  // namespace

std::unique_ptr<DaemonProcess> DaemonProcess::Start(std::vector<std::string> flags,
                                                    std::optional<int> core,
                                                    const std::string& program) {
  std::unique_ptr<DaemonProcess> daemon(new DaemonProcess());
  // TEST_TMPDIR is too long for a socket's path.
  char folder[] = "/tmp/acceld_test_XXXXXX";
  if (mkdtemp(folder) == nullptr) Die("mkdtemp");
  daemon->folder_ = folder;
  std::vector<std::string> arguments = {program, "--socket=" + daemon->folder_ + "/s",
                                        "--listen=127.0.0.1:0"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  int output[2];
  if (pipe(output) != 0) Die("pipe");
  daemon->pid_ = fork();
  if (daemon->pid_ < 0) Die("fork");
  if (daemon->pid_ == 0) {
    close(output[0]);
    BecomeDaemon(std::move(arguments), core, output[1]);
  }
  close(output[1]);
  std::FILE* lines = fdopen(output[0], "r");
  char line[256];
  while (daemon->tcp_endpoint_.empty() && std::fgets(line, sizeof line, lines) != nullptr) {
    std::string text(line);
    if (text.rfind(kListening, 0) != 0) continue;
    text = text.substr(sizeof kListening - 1, text.find('\n') - (sizeof kListening - 1));
    (text.rfind("unix:", 0) == 0 ? daemon->unix_endpoint_ : daemon->tcp_endpoint_) = text;
  }
  std::fclose(lines);
  if (daemon->tcp_endpoint_.empty()) {
    std::fprintf(stderr, "%s ended with status %d before it listened.\n", program.c_str(),
                 daemon->Wait());
    std::abort();
  }
  return daemon;
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    Wait();
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void DaemonProcess::Signal(int signal) const { kill(pid_, signal); }

int DaemonProcess::Wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) Die("waitpid");
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace acceld::testing
