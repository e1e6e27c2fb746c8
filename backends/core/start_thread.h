// A thread of a device's own.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/statusor.h"

namespace acceld {

// Starts a thread that runs `body`, named `name` (at most 15 characters), with every signal
// blocked: those are for the threads of the program. Threads that it starts inherit that. A device
// error where the system gives no thread; `whose`, such as "The cpu device", begins its message and
// `what`, such as "worker", names the thread.
absl::StatusOr<std::thread> StartThread(const char* name, const char* whose, const char* what,
                                        std::function<void()> body);

}  // namespace acceld
