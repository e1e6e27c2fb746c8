// The real daemon as a child process on a private socket, for tests.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace acceld::testing {

class DaemonProcess {
 public:
  // Starts `program` with a socket in a short folder of its own, a TCP listener with a port of the
  // system's choice, and `flags`, all its threads on `core` where one is given; returns when it
  // listens. Ends the test program where it does not start.
  static std::unique_ptr<DaemonProcess> Start(std::vector<std::string> flags = {},
                                              std::optional<int> core = std::nullopt,
                                              const std::string& program = "server/acceld");

  // Kills it if it still runs, and removes the folder.
  ~DaemonProcess();

  const std::string& unix_endpoint() const { return unix_endpoint_; }
  const std::string& tcp_endpoint() const { return tcp_endpoint_; }
  const std::string& folder() const { return folder_; }
  pid_t pid() const { return pid_; }

  void Signal(int signal) const;
  // Waits until it has ended; its exit status, or 128 and the signal's number.
  int Wait();

 private:
  DaemonProcess() = default;

  std::string folder_;
  std::string unix_endpoint_;
  std::string tcp_endpoint_;
  pid_t pid_ = -1;
};

}  // namespace acceld::testing
