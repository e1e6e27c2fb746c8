// Measurements as text and as JSON.
#pragma once

#include <string>

#include "nlohmann/json.hpp"
#include "tests/bench/harness/figure.h"
#include "tests/bench/harness/measurement.h"

namespace acceld::bench {

// The value with four digits, or all those before its decimal point.
std::string FormatValue(double value);

// {value, low, high, rounds, numerator, denominator}; the last two are null where it is no ratio.
nlohmann::json ToJson(const Measurement& measurement);
// `json` comes from ToJson.
Measurement FromJson(const nlohmann::json& json);

// The above with the figure's name and unit.
nlohmann::json ToJson(const Figure& figure, const Measurement& measurement);

}  // namespace acceld::bench
