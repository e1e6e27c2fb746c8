#include "client/connect.h"

#include "backends/core/status.h"
#include "client/remote_backend.h"

namespace acceld {

absl::StatusOr<std::unique_ptr<ComputeBackend>> Connect(std::string_view endpoint,
                                                        const ConnectOptions& options) {
  auto backend = std::make_unique<RemoteBackend>(std::string(endpoint), options);
  ACCELD_RETURN_IF_ERROR(backend->Init());
  return backend;
}

}  // namespace acceld
