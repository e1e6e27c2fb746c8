// The bandwidth of large copies against that of the plainest way to move the same bytes: memcpy by
// one thread, or a bare TCP connection. All memory has been touched before.

#include <cstring>
#include <memory>

#include "backends/core/status.h"
#include "tests/bench/baseline/bulk_socket.h"
#include "tests/bench/baseline/host_copy.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/client.h"
#include "tests/bench/harness/clock.h"

namespace acceld::bench {
namespace {

constexpr int kRounds = 15;

// A remote backend with device memory for a copy, and host memory for both sides.
struct Copier {
  HostCopy host;
  std::unique_ptr<testing::DaemonProcess> daemon{};
  std::unique_ptr<RemoteBackend> backend{};
  Address device = 0;

  std::size_t bytes() { return host.source().size(); }
};

absl::StatusOr<Copier> MakeCopier(const Setting& setting, Route route) {
  Copier copier = {.host = HostCopy(setting.copy_bytes()), .daemon = StartDaemon()};
  ACCELD_ASSIGN_OR_RETURN(copier.backend, Open(*copier.daemon, route));
  ACCELD_ASSIGN_OR_RETURN(copier.device, AllocTouched(*copier.backend, copier.bytes()));
  return copier;
}

// In GB/s.
template <typename Copy>
absl::StatusOr<double> Bandwidth(std::size_t bytes, Copy&& copy) {
  ACCELD_ASSIGN_OR_RETURN(const double seconds, Seconds(copy));
  return static_cast<double>(bytes) / seconds * 1e-9;
}

// `copy` and `baseline` each move the bytes of a copy once.
template <typename Copy, typename Baseline>
absl::StatusOr<Measurement> Compare(const Setting& setting, Copy&& copy, Baseline&& baseline) {
  const std::size_t bytes = setting.copy_bytes();
  return MeasurePairs(
      setting.Rounds(kRounds), [&] { return Bandwidth(bytes, copy); },
      [&] { return Bandwidth(bytes, baseline); });
}

// CopyHtoD from plain memory, until the bytes are on the device.
absl::Status Upload(Copier& copier) {
  ACCELD_RETURN_IF_ERROR(copier.backend->CopyHtoD(copier.device, copier.host.source()));
  return copier.backend->SynchronizeStream(kDefaultStream);
}

// CopyDtoH to plain memory.
absl::Status Download(Copier& copier) {
  return copier.backend->CopyDtoH(copier.host.target(), copier.device);
}

absl::StatusOr<Measurement> HtoDShm(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(Copier copier, MakeCopier(setting, Route::kShm));
  return Compare(
      setting, [&] { return Upload(copier); }, [&] { return copier.host.Copy(); });
}

absl::StatusOr<Measurement> DtoHShm(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(Copier copier, MakeCopier(setting, Route::kShm));
  return Compare(
      setting, [&] { return Download(copier); }, [&] { return copier.host.Copy(); });
}

// The host writes to a mapped buffer, which puts the bytes where the device's ops find them.
absl::StatusOr<Measurement> MapShm(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(Copier copier, MakeCopier(setting, Route::kShm));
  RemoteBackend& backend = *copier.backend;
  const absl::Span<const std::byte> source = copier.host.source();
  ACCELD_ASSIGN_OR_RETURN(const Address mappable, backend.Alloc(source.size(), {.mappable = true}));
  ACCELD_ASSIGN_OR_RETURN(const absl::Span<std::byte> view, backend.Map(mappable));
  ACCELD_ASSIGN_OR_RETURN(const Measurement measurement,
                          Compare(
                              setting,
                              [&] {
                                std::memcpy(view.data(), source.data(), source.size());
                                asm volatile("" : : "r"(view.data()) : "memory");
                                return absl::OkStatus();
                              },
                              [&] { return copier.host.Copy(); }));
  // It was the device's memory.
  const absl::Span<std::byte> target = copier.host.target();
  std::memset(target.data(), 0, target.size());
  ACCELD_RETURN_IF_ERROR(backend.CopyDtoH(target, mappable));
  if (target == source) return measurement;
  return DeviceError("The device does not see what the host wrote to mapped memory.");
}

// CopyHtoD from AllocHost memory, which needs no staging, until the bytes are on the device.
absl::StatusOr<Measurement> HostAllocShm(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(Copier copier, MakeCopier(setting, Route::kShm));
  RemoteBackend& backend = *copier.backend;
  ACCELD_ASSIGN_OR_RETURN(const absl::Span<std::byte> source, backend.AllocHost(copier.bytes()));
  std::memset(source.data(), 1, source.size());
  return Compare(
      setting,
      [&] {
        ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(copier.device, source, kDefaultStream));
        return backend.SynchronizeStream(kDefaultStream);
      },
      [&] { return copier.host.Copy(); });
}

absl::StatusOr<Measurement> UploadAgainstRawTcp(const Setting& setting, Route route) {
  ACCELD_ASSIGN_OR_RETURN(BulkSocket raw, BulkSocket::Start());
  ACCELD_ASSIGN_OR_RETURN(Copier copier, MakeCopier(setting, route));
  return Compare(
      setting, [&] { return Upload(copier); }, [&] { return raw.Upload(copier.host.source()); });
}

absl::StatusOr<Measurement> HtoDTcp(const Setting& setting) {
  return UploadAgainstRawTcp(setting, Route::kTcpFrames);
}

absl::StatusOr<Measurement> HtoDGrpc(const Setting& setting) {
  return UploadAgainstRawTcp(setting, Route::kTcpGrpc);
}

absl::StatusOr<Measurement> DtoHTcp(const Setting& setting) {
  ACCELD_ASSIGN_OR_RETURN(BulkSocket raw, BulkSocket::Start());
  ACCELD_ASSIGN_OR_RETURN(Copier copier, MakeCopier(setting, Route::kTcpFrames));
  return Compare(
      setting, [&] { return Download(copier); },
      [&] { return raw.Download(copier.host.target()); });
}

}  // namespace

std::vector<Figure> CopyFigures() {
  return {{"copy_htod_shm_vs_memcpy", "ratio", "GB/s", HtoDShm},
          {"copy_dtoh_shm_vs_memcpy", "ratio", "GB/s", DtoHShm},
          {"copy_map_vs_memcpy", "ratio", "GB/s", MapShm},
          {"copy_host_alloc_vs_memcpy", "ratio", "GB/s", HostAllocShm},
          {"copy_htod_tcp_vs_raw", "ratio", "GB/s", HtoDTcp},
          {"copy_dtoh_tcp_vs_raw", "ratio", "GB/s", DtoHTcp},
          {"copy_htod_grpc_vs_raw_tcp", "ratio", "GB/s", HtoDGrpc}};
}

}  // namespace acceld::bench
