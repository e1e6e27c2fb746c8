#include "client/accelctl/selftest_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "client/accelctl/table.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace acceld::accelctl {

std::string SelftestText(const SelftestReport& report) {
  Table table({{.title = "OP"},
               {.title = "CASE"},
               {.title = "MAX ERROR", .align = Table::Align::kRight},
               {.title = "TOLERANCE", .align = Table::Align::kRight},
               {.title = "RESULT"}});
  std::map<Outcome, int> counts;
  for (const SelftestResult& result : report.results) {
    ++counts[result.outcome];
    const std::string_view separator = result.message.empty() ? "" : ": ";
    table.AddRow({result.op, result.name,
                  result.max_error.has_value() ? fmt::format("{:.1e}", *result.max_error) : "-",
                  fmt::format("{:.1e}", result.tolerance),
                  fmt::format("{}{}{}", Name(result.outcome), separator, result.message)});
  }
  return fmt::format(
      "device {}:{}, {}, over {}\n\n{}\n{} ok, {} wrong, {} failed, {} unsupported\n",
      Name(report.device.kind), report.device.ordinal, Printable(report.device.name),
      Printable(report.transport), table.ToString(), counts[Outcome::kOk], counts[Outcome::kWrong],
      counts[Outcome::kFailed], counts[Outcome::kUnsupported]);
}

std::string SelftestJson(const SelftestReport& report) {
  using Json = nlohmann::ordered_json;
  Json cases = Json::array();
  for (const SelftestResult& result : report.results) {
    const bool is_finite = result.max_error.has_value() && std::isfinite(*result.max_error);
    cases.push_back({{"op", result.op},
                     {"case", result.name},
                     {"outcome", Name(result.outcome)},
                     {"max_error", is_finite ? Json(*result.max_error) : Json()},
                     {"tolerance", result.tolerance},
                     {"message", result.message}});
  }
  const Json object = {{"ok", Verdict(report.results).ok()},
                       {"device",
                        {{"kind", Name(report.device.kind)},
                         {"ordinal", report.device.ordinal},
                         {"uuid", report.device.uuid},
                         {"name", report.device.name}}},
                       {"transport", report.transport},
                       {"cases", std::move(cases)}};
  // A message may hold any bytes; JSON is UTF-8.
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace acceld::accelctl
