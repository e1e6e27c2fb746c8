// A way to reach a device: what each test binary of the suite supplies (ways/*.cc). A new device or
// transport is one such file and one line in BUILD.bazel.
#pragma once

#include <memory>
#include <string>

#include "backends/compute_backend.h"

namespace acceld::conformance {

// A fresh backend, not yet initialized. Any number of them may live at once, in any thread.
std::unique_ptr<ComputeBackend> MakeBackend();

// How this binary means to reach the device, such as "in_process" or "grpc_unix".
std::string ExpectedTransport();

// Whether this way can show device memory to the host: else mappable memory is unsupported.
bool MapsMemory();

// A backend in this process on the same device as MakeBackend's, not yet initialized, which can
// open memory of it; null where this way has no openable memory, which is then unsupported.
std::unique_ptr<ComputeBackend> MakeOpener();

// How `backend`, which came from MakeBackend and is initialized, really does.
std::string ObservedTransport(const ComputeBackend& backend);

}  // namespace acceld::conformance
