// What a figure measures: a value a round, of which the median and the quartiles are reported.
#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace acceld::bench {

struct Measurement {
  // The median, and the quartiles below and above it.
  double value = 0;
  double low = 0;
  double high = 0;
  int rounds = 0;
  // The medians of both sides of a ratio.
  std::optional<double> numerator{};
  std::optional<double> denominator{};
};

// One round's sample: a time or a rate.
using Round = absl::FunctionRef<absl::StatusOr<double>()>;

// The quantile `part`, from 0 to 1, of `values`, which is not empty; linear between neighbours.
double Quantile(std::vector<double> values, double part);

// Runs `round` once to warm up, then `rounds` times.
absl::StatusOr<Measurement> MeasureRounds(int rounds, Round round);

// Runs both sides in turn, once to warm up, then `rounds` times; a value is the ratio of a pair.
absl::StatusOr<Measurement> MeasurePairs(int rounds, Round numerator, Round denominator);

}  // namespace acceld::bench
