#include "tests/bench/harness/measurement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "backends/core/status.h"

namespace acceld::bench {
namespace {

Measurement Summarize(const std::vector<double>& values) {
  return {.value = Quantile(values, 0.5),
          .low = Quantile(values, 0.25),
          .high = Quantile(values, 0.75),
          .rounds = static_cast<int>(values.size())};
}

}  // namespace

double Quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double position = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

absl::StatusOr<Measurement> MeasureRounds(int rounds, Round round) {
  ACCELD_RETURN_IF_ERROR(round().status());
  std::vector<double> values;
  for (int i = 0; i < rounds; ++i) {
    ACCELD_ASSIGN_OR_RETURN(const double value, round());
    values.push_back(value);
  }
  return Summarize(values);
}

absl::StatusOr<Measurement> MeasurePairs(int rounds, Round numerator, Round denominator) {
  ACCELD_RETURN_IF_ERROR(numerator().status());
  ACCELD_RETURN_IF_ERROR(denominator().status());
  std::vector<double> numerators;
  std::vector<double> denominators;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    ACCELD_ASSIGN_OR_RETURN(const double above, numerator());
    ACCELD_ASSIGN_OR_RETURN(const double below, denominator());
    numerators.push_back(above);
    denominators.push_back(below);
    ratios.push_back(above / below);
  }
  Measurement measurement = Summarize(ratios);
  measurement.numerator = Quantile(numerators, 0.5);
  measurement.denominator = Quantile(denominators, 0.5);
  return measurement;
}

}  // namespace acceld::bench
