// Card 0 as acceld's device in this process, by the plugin, and called directly; and how the two
// are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/compute_backend.h"
#include "backends/local/local_backend.h"
#include "tests/bench/cuda/direct.h"
#include "tests/bench/harness/figure.h"
#include "tests/bench/harness/measurement.h"

namespace acceld::bench {

// Where the plugin is, from the folder that the program runs in.
inline constexpr char kPluginFolder[] = "backends/cuda";

// acceld's device, initialized.
absl::StatusOr<std::unique_ptr<LocalBackend>> OpenCard();

// Both views of the card; each has memory of its own.
struct Card {
  static absl::StatusOr<Card> Open();

  std::unique_ptr<LocalBackend> backend{};
  std::unique_ptr<Direct> direct{};
};

// What `count` elements of device memory hold: numbers evenly spread over [-1, 1), of which a
// pattern repeats. A card takes more power, and may be slower, with them than with zeros.
template <typename T>
std::vector<T> Pattern(std::uint64_t count);

// New device memory of `bytes` bytes, which `pattern` fills again and again.
absl::StatusOr<Address> Fill(ComputeBackend& backend, absl::Span<const std::byte> pattern,
                             std::uint64_t bytes);
absl::StatusOr<std::byte*> Fill(Direct& direct, absl::Span<const std::byte> pattern,
                                std::uint64_t bytes);

// `count` elements of type T on acceld's side and on the other.
template <typename T>
absl::StatusOr<Address> RandomArray(ComputeBackend& backend, std::int64_t count);
template <typename T>
absl::StatusOr<T*> RandomArray(Direct& direct, std::int64_t count);

// What is timed: `submit` again and again, and then `wait` for all of it.
struct Side {
  std::function<absl::Status()> submit;
  std::function<absl::Status()> wait;
  // What one submission does, in the unit of the side's rate times seconds.
  double work = 1;
};

Side OnBackend(ComputeBackend& backend, double work, std::function<absl::Status()> submit);
Side OnDirect(Direct& direct, double work, std::function<absl::Status()> submit);

// The rate of `acceld` over that of `direct`, in pairs of rounds of some 10 ms by the host's clock,
// which include waiting for the card at their ends; the sides are the rates.
absl::StatusOr<Measurement> CompareRates(const Setting& setting, const Side& acceld,
                                         const Side& direct);

// The mean time of one submission in microseconds, in rounds of `repeats`.
absl::StatusOr<Measurement> MeasureTime(const Setting& setting, int repeats, const Side& side);

}  // namespace acceld::bench
