#include "tests/bench/cpu/in_process.h"

#include <omp.h>

#include <algorithm>
#include <random>
#include <utility>

#include "backends/core/status.h"
#include "backends/cpu/cpu_device.h"
#include "backends/cpu/parallel.h"
#include "fmt/format.h"
#include "tests/bench/harness/clock.h"
#include "tests/bench/harness/cores.h"

namespace acceld::bench {
namespace {

// Of one side of a round.
constexpr double kRoundUs = 4000;
// Of all rounds together, both sides.
constexpr double kFigureUs = 1.2e6;
constexpr int kMinRounds = 15;
constexpr int kMaxRounds = 101;
// How often each of several direct calls is tried.
constexpr int kTrials = 5;

// How often a call is repeated so that a round takes about kRoundUs.
absl::StatusOr<int> RepeatsFor(const Setting& setting,
                               const std::function<absl::StatusOr<double>(int)>& round) {
  int repeats = 1;
  ACCELD_RETURN_IF_ERROR(round(1).status());
  if (setting.quick) return repeats;
  while (true) {
    ACCELD_ASSIGN_OR_RETURN(const double us, round(repeats));
    if (us * repeats >= kRoundUs / 4) {
      return std::max(1, static_cast<int>(kRoundUs / us));
    }
    repeats *= 4;
  }
}

}  // namespace

template <typename T>
HostArray<T> RandomArray(std::int64_t count) {
  HostArray<T> array(count);
  std::minstd_rand random(1);
  for (std::int64_t i = 0; i < count; ++i) {
    array.data()[i] = static_cast<T>(static_cast<double>(random()) / 0x1p30 - 1);
  }
  return array;
}

template HostArray<float> RandomArray(std::int64_t count);
template HostArray<double> RandomArray(std::int64_t count);

InProcess::InProcess(int threads) : backend_(MakeCpuDevice({.threads = threads})) {}

absl::StatusOr<std::unique_ptr<InProcess>> InProcess::Create(int threads) {
  // The device's thread inherits the core: of a virtual machine one may be half as fast as another.
  const std::vector<int> cores = UsableCores();
  if (threads == 1 && !cores.empty()) ACCELD_RETURN_IF_ERROR(PinToCore(cores.back()));
  std::unique_ptr<InProcess> device(new InProcess(threads));
  ACCELD_RETURN_IF_ERROR(device->backend_.Init());
  return device;
}

absl::StatusOr<Address> InProcess::Upload(absl::Span<const std::byte> bytes) {
  ACCELD_ASSIGN_OR_RETURN(const Address address, backend_.Alloc(bytes.size()));
  ACCELD_RETURN_IF_ERROR(backend_.CopyHtoD(address, bytes));
  return address;
}

absl::StatusOr<Measurement> MeasureAgainst(const Setting& setting, int threads, InProcess& device,
                                           const Call& op, const std::vector<Call>& direct) {
  // Where OpenMP places threads, this one has to be where it takes it to be.
  const std::vector<int> cores = UsableCores();
  if (threads > 1 && omp_get_proc_bind() != omp_proc_bind_false && !cores.empty()) {
    ACCELD_RETURN_IF_ERROR(PinToCore(cores.front()));
  }
  const ScopedOpenMpThreads openmp(threads);
  const auto on_device = [&](int repeats) -> absl::StatusOr<double> {
    ACCELD_ASSIGN_OR_RETURN(const double seconds, Seconds([&] {
                              for (int i = 0; i < repeats; ++i) ACCELD_RETURN_IF_ERROR(op());
                              return device.backend().Synchronize();
                            }));
    return seconds * 1e6 / repeats;
  };
  const Call* fastest = nullptr;
  double fastest_us = 0;
  for (const Call& call : direct) {
    ACCELD_ASSIGN_OR_RETURN(const int repeats,
                            RepeatsFor(setting, [&](int n) { return MeanMicroseconds(n, call); }));
    for (int i = 0; i < (direct.size() > 1 ? kTrials : 1); ++i) {
      ACCELD_ASSIGN_OR_RETURN(const double us, MeanMicroseconds(repeats, call));
      // By far too slow for another try to matter.
      if (fastest != nullptr && us >= 2 * fastest_us) break;
      if (fastest != nullptr && us >= fastest_us) continue;
      fastest = &call;
      fastest_us = us;
    }
  }
  ACCELD_ASSIGN_OR_RETURN(const int repeats, RepeatsFor(setting, on_device));
  const double pair_us = 2 * std::max(kRoundUs, fastest_us);
  const int rounds = std::clamp(static_cast<int>(kFigureUs / pair_us), kMinRounds, kMaxRounds);
  // Both sides repeat alike, so that neither has fewer interruptions.
  return MeasurePairs(
      setting.Rounds(rounds), [&] { return on_device(repeats); },
      [&] { return MeanMicroseconds(repeats, *fastest); });
}

std::vector<Figure> AtOneAndTwoThreads(
    const std::string& name,
    std::function<absl::StatusOr<Measurement>(const Setting& setting, int threads)> measure) {
  std::vector<Figure> figures;
  for (const int threads : {1, 2}) {
    figures.push_back(
        {fmt::format("{}_t{}", name, threads), "ratio", "us",
         [measure, threads](const Setting& setting) { return measure(setting, threads); }});
  }
  return figures;
}

}  // namespace acceld::bench
