#include "tests/bench/harness/report.h"

#include <cmath>
#include <optional>

#include "fmt/format.h"

namespace acceld::bench {
namespace {

nlohmann::json OrNull(std::optional<double> value) {
  return value.has_value() ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

std::optional<double> OrNothing(const nlohmann::json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<double>();
}

}  // namespace

std::string FormatValue(double value) {
  return std::abs(value) < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

nlohmann::json ToJson(const Measurement& measurement) {
  return {{"value", measurement.value},
          {"low", measurement.low},
          {"high", measurement.high},
          {"rounds", measurement.rounds},
          {"numerator", OrNull(measurement.numerator)},
          {"denominator", OrNull(measurement.denominator)}};
}

Measurement FromJson(const nlohmann::json& json) {
  return {.value = json["value"].get<double>(),
          .low = json["low"].get<double>(),
          .high = json["high"].get<double>(),
          .rounds = json["rounds"].get<int>(),
          .numerator = OrNothing(json["numerator"]),
          .denominator = OrNothing(json["denominator"])};
}

nlohmann::json ToJson(const Figure& figure, const Measurement& measurement) {
  nlohmann::json json = ToJson(measurement);
  json["name"] = figure.name;
  json["unit"] = figure.unit;
  return json;
}

}  // namespace acceld::bench
