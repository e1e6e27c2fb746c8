#include "client/examples/buffer.h"

#include <cstddef>

#include "backends/core/status.h"

namespace acceld::examples {

absl::StatusOr<Buffer> Buffer::Zeros(ComputeBackend& backend, std::int64_t count) {
  ACCELD_ASSIGN_OR_RETURN(const Address address,
                          backend.Alloc(static_cast<std::uint64_t>(count) * sizeof(float)));
  return Buffer(&backend, address);
}

absl::StatusOr<Buffer> Buffer::Of(ComputeBackend& backend, absl::Span<const float> values) {
  ACCELD_ASSIGN_OR_RETURN(Buffer buffer, Zeros(backend, static_cast<std::int64_t>(values.size())));
  ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(
      buffer.address(), absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()),
                                            values.size() * sizeof(float))));
  return buffer;
}

absl::Status Download(ComputeBackend& backend, Address source, absl::Span<float> target) {
  return backend.CopyDtoH(
      absl::MakeSpan(reinterpret_cast<std::byte*>(target.data()), target.size() * sizeof(float)),
      source);
}

}  // namespace acceld::examples
