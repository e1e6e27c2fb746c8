#include "server/transport/listener_address.h"

#include <charconv>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

absl::Status NotHostPort(std::string_view text) {
  return InvalidArgument(fmt::format(
      "\"{}\" is not HOST:PORT, such as 127.0.0.1:0, localhost:8080 or [::1]:8080.", text));
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return NotHostPort(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);

  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) return NotHostPort(text);
  } else if (host.find(':') != std::string_view::npos) {
    return NotHostPort(text);
  }
  if (host.empty() || host.find_first_of("[] \t\r\n/") != std::string_view::npos ||
      host.find('\0') != std::string_view::npos) {
    return NotHostPort(text);
  }

  HostPort result{std::string(host), 0};
  const char* end = port.data() + port.size();
  const auto [parsed_to, error] = std::from_chars(port.data(), end, result.port);
  if (error == std::errc::result_out_of_range) {
    return InvalidArgument(
        fmt::format("Port {} of \"{}\" is too large; at most 65535 is possible.", port, text));
  }
  if (error != std::errc() || parsed_to != end) return NotHostPort(text);
  return result;
}

}  // namespace acceld
