#include "tests/bench/cuda/card.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <utility>

#include "backends/core/status.h"
#include "backends/registry/plugin_loader.h"
#include "fmt/format.h"
#include "tests/bench/harness/clock.h"

namespace acceld::bench {
namespace {

constexpr double kRoundSeconds = 0.01;
constexpr int kRounds = 25;
// Until the card's clock is where it stays.
constexpr double kWarmUpSeconds = 0.2;
// What there is no more of than this is computed by the host; the rest is copies on the device.
constexpr std::uint64_t kPatternElements = std::uint64_t{1} << 20;

absl::StatusOr<double> SecondsOf(const Side& side, int repeats) {
  return Seconds([&] {
    for (int i = 0; i < repeats; ++i) ACCELD_RETURN_IF_ERROR(side.submit());
    return side.wait();
  });
}

// How often a side is submitted so that a round takes about kRoundSeconds.
absl::StatusOr<int> RepeatsFor(const Side& side) {
  int repeats = 1;
  while (true) {
    ACCELD_ASSIGN_OR_RETURN(const double seconds, SecondsOf(side, repeats));
    if (seconds >= kRoundSeconds / 4) {
      return std::max(1, static_cast<int>(repeats * kRoundSeconds / seconds));
    }
    repeats *= 4;
  }
}

absl::Status WarmUp(const Side& acceld, const Side& direct) {
  // The first time libraries are opened, and plans are made.
  ACCELD_RETURN_IF_ERROR(SecondsOf(acceld, 1).status());
  ACCELD_RETURN_IF_ERROR(SecondsOf(direct, 1).status());
  double seconds = 0;
  while (seconds < kWarmUpSeconds) {
    for (const Side* side : {&acceld, &direct}) {
      ACCELD_ASSIGN_OR_RETURN(const double once, SecondsOf(*side, 1));
      seconds += once;
    }
  }
  return absl::OkStatus();
}

// Copies the first bytes of `bytes` behind them until all are written.
template <typename Copy>
absl::Status Spread(std::uint64_t pattern, std::uint64_t bytes, Copy&& copy) {
  for (std::uint64_t written = pattern; written < bytes;) {
    const std::uint64_t more = std::min(written, bytes - written);
    ACCELD_RETURN_IF_ERROR(copy(written, more));
    written += more;
  }
  return absl::OkStatus();
}

template <typename T>
absl::Span<const std::byte> Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalBackend>> OpenCard() {
  ACCELD_ASSIGN_OR_RETURN(const Plugin* const plugin,
                          LoadPlugin(fmt::format("{}/libacceld_cuda.so", kPluginFolder)));
  ACCELD_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, plugin->make_device(0, {}));
  auto backend = std::make_unique<LocalBackend>(std::move(device));
  ACCELD_RETURN_IF_ERROR(backend->Init());
  return backend;
}

absl::StatusOr<Card> Card::Open() {
  Card card;
  ACCELD_ASSIGN_OR_RETURN(card.backend, OpenCard());
  ACCELD_ASSIGN_OR_RETURN(card.direct, OpenDirect());
  return card;
}

template <typename T>
std::vector<T> Pattern(std::uint64_t count) {
  std::vector<T> values(std::min(count, kPatternElements));
  std::minstd_rand random(1);
  for (T& value : values) value = static_cast<T>(static_cast<double>(random()) / 0x1p30 - 1);
  return values;
}

template std::vector<float> Pattern(std::uint64_t count);
template std::vector<double> Pattern(std::uint64_t count);

absl::StatusOr<Address> Fill(ComputeBackend& backend, absl::Span<const std::byte> pattern,
                             std::uint64_t bytes) {
  ACCELD_ASSIGN_OR_RETURN(const Address address, backend.Alloc(bytes));
  ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(address, pattern));
  ACCELD_RETURN_IF_ERROR(Spread(pattern.size(), bytes, [&](std::uint64_t at, std::uint64_t more) {
    return backend.CopyDtoD(address + at, address, more);
  }));
  ACCELD_RETURN_IF_ERROR(backend.Synchronize());
  return address;
}

absl::StatusOr<std::byte*> Fill(Direct& direct, absl::Span<const std::byte> pattern,
                                std::uint64_t bytes) {
  ACCELD_ASSIGN_OR_RETURN(std::byte* const pinned, direct.AllocatePinned(pattern.size()));
  std::copy(pattern.begin(), pattern.end(), pinned);
  ACCELD_ASSIGN_OR_RETURN(std::byte* const data, direct.Allocate(bytes));
  ACCELD_RETURN_IF_ERROR(direct.CopyToDevice(data, pinned, pattern.size()));
  ACCELD_RETURN_IF_ERROR(Spread(pattern.size(), bytes, [&](std::uint64_t at, std::uint64_t more) {
    return direct.CopyOnDevice(data + at, data, more);
  }));
  ACCELD_RETURN_IF_ERROR(direct.Synchronize());
  return data;
}

template <typename T>
absl::StatusOr<Address> RandomArray(ComputeBackend& backend, std::int64_t count) {
  const auto elements = static_cast<std::uint64_t>(count);
  const std::vector<T> pattern = Pattern<T>(elements);
  return Fill(backend, Bytes(pattern), elements * sizeof(T));
}

template <typename T>
absl::StatusOr<T*> RandomArray(Direct& direct, std::int64_t count) {
  const auto elements = static_cast<std::uint64_t>(count);
  const std::vector<T> pattern = Pattern<T>(elements);
  ACCELD_ASSIGN_OR_RETURN(std::byte* const data,
                          Fill(direct, Bytes(pattern), elements * sizeof(T)));
  return reinterpret_cast<T*>(data);
}

template absl::StatusOr<Address> RandomArray<float>(ComputeBackend& backend, std::int64_t count);
template absl::StatusOr<Address> RandomArray<double>(ComputeBackend& backend, std::int64_t count);
template absl::StatusOr<float*> RandomArray<float>(Direct& direct, std::int64_t count);
template absl::StatusOr<double*> RandomArray<double>(Direct& direct, std::int64_t count);

Side OnBackend(ComputeBackend& backend, double work, std::function<absl::Status()> submit) {
  return {.submit = std::move(submit),
          .wait = [&backend] { return backend.Synchronize(); },
          .work = work};
}

Side OnDirect(Direct& direct, double work, std::function<absl::Status()> submit) {
  return {.submit = std::move(submit),
          .wait = [&direct] { return direct.Synchronize(); },
          .work = work};
}

absl::StatusOr<Measurement> CompareRates(const Setting& setting, const Side& acceld,
                                         const Side& direct) {
  int repeats = 1;
  if (!setting.quick) {
    ACCELD_RETURN_IF_ERROR(WarmUp(acceld, direct));
    // Both sides repeat alike, so that neither waits more often.
    ACCELD_ASSIGN_OR_RETURN(repeats, RepeatsFor(direct));
  }
  const auto rate = [&](const Side& side) -> absl::StatusOr<double> {
    ACCELD_ASSIGN_OR_RETURN(const double seconds, SecondsOf(side, repeats));
    return side.work * repeats / seconds;
  };
  return MeasurePairs(
      setting.Rounds(kRounds), [&] { return rate(acceld); }, [&] { return rate(direct); });
}

absl::StatusOr<Measurement> MeasureTime(const Setting& setting, int repeats, const Side& side) {
  const int count = setting.Repeats(repeats);
  return MeasureRounds(setting.Rounds(kRounds), [&]() -> absl::StatusOr<double> {
    ACCELD_ASSIGN_OR_RETURN(const double seconds, SecondsOf(side, count));
    return seconds * 1e6 / count;
  });
}

}  // namespace acceld::bench
