// Copies between host and card against the bus: cudaMemcpyAsync from and to pinned memory.

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backends/core/status.h"
#include "tests/bench/cuda/card.h"
#include "tests/bench/cuda/figures.h"
#include "tests/bench/harness/client.h"

namespace acceld::bench {
namespace {

enum class Way { kInProcess, kShm };
enum class HostSide { kAllocHost, kPlain };
enum class Direction { kToDevice, kToHost };

// A backend on the card, with its daemon where it has one.
struct Backend {
  std::unique_ptr<testing::DaemonProcess> daemon{};
  std::unique_ptr<ComputeBackend> backend{};
};

absl::StatusOr<Backend> OpenBackend(Way way) {
  Backend opened;
  if (way == Way::kInProcess) {
    ACCELD_ASSIGN_OR_RETURN(opened.backend, OpenCard());
    return opened;
  }
  opened.daemon = StartDaemon(std::nullopt, {std::string("--plugin_folder=") + kPluginFolder});
  ACCELD_ASSIGN_OR_RETURN(opened.backend, bench::Open(*opened.daemon, Route::kShm,
                                                      {.kind = BackendKind::kCuda, .ordinal = 0}));
  return opened;
}

// `host` is memory that has been written to.
absl::Status Submit(ComputeBackend& backend, Direction direction, Address device,
                    absl::Span<std::byte> host) {
  if (direction == Direction::kToDevice) return backend.CopyHtoD(device, host, kDefaultStream);
  return backend.CopyDtoH(host, device, kDefaultStream);
}

absl::StatusOr<Measurement> Copy(const Setting& setting, Way way, HostSide side,
                                 Direction direction) {
  const std::uint64_t bytes = setting.copy_bytes();
  ACCELD_ASSIGN_OR_RETURN(const Backend opened, OpenBackend(way));
  ComputeBackend& backend = *opened.backend;
  ACCELD_ASSIGN_OR_RETURN(const Address device, AllocTouched(backend, bytes));
  std::vector<std::byte> plain;
  absl::Span<std::byte> host;
  if (side == HostSide::kAllocHost) {
    ACCELD_ASSIGN_OR_RETURN(host, backend.AllocHost(bytes));
  } else {
    plain.resize(bytes);
    host = absl::MakeSpan(plain);
  }
  std::memset(host.data(), 1, host.size());

  ACCELD_ASSIGN_OR_RETURN(const std::unique_ptr<Direct> direct, OpenDirect());
  ACCELD_ASSIGN_OR_RETURN(std::byte* const direct_device, direct->Allocate(bytes));
  ACCELD_ASSIGN_OR_RETURN(std::byte* const pinned, direct->AllocatePinned(bytes));
  std::memset(pinned, 1, bytes);
  const auto over_the_bus = [&] {
    return direction == Direction::kToDevice ? direct->CopyToDevice(direct_device, pinned, bytes)
                                             : direct->CopyToHost(pinned, direct_device, bytes);
  };

  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  return CompareRates(
      setting,
      OnBackend(backend, gigabytes, [&] { return Submit(backend, direction, device, host); }),
      OnDirect(*direct, gigabytes, over_the_bus));
}

Figure Of(const char* name, Way way, HostSide side, Direction direction) {
  return {name, "ratio", "GB/s",
          [=](const Setting& setting) { return Copy(setting, way, side, direction); }};
}

}  // namespace

std::vector<Figure> CardCopyFigures() {
  using enum Way;
  using enum HostSide;
  using enum Direction;
  return {Of("copy_htod_host_alloc_vs_bus", kInProcess, kAllocHost, kToDevice),
          Of("copy_dtoh_host_alloc_vs_bus", kInProcess, kAllocHost, kToHost),
          Of("copy_htod_plain_vs_bus", kInProcess, kPlain, kToDevice),
          Of("copy_dtoh_plain_vs_bus", kInProcess, kPlain, kToHost),
          Of("copy_htod_host_alloc_shm_vs_bus", kShm, kAllocHost, kToDevice),
          Of("copy_dtoh_host_alloc_shm_vs_bus", kShm, kAllocHost, kToHost),
          Of("copy_htod_plain_shm_vs_bus", kShm, kPlain, kToDevice),
          Of("copy_dtoh_plain_shm_vs_bus", kShm, kPlain, kToHost)};
}

}  // namespace acceld::bench
