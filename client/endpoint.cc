#include "client/endpoint.h"

#include <sys/un.h>

#include <charconv>

#include "backends/core/status.h"
#include "fmt/format.h"

namespace acceld {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kTransportOption = "?transport=";
constexpr char kSystemSocket[] = "unix:/run/acceld/acceld.sock";
constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

bool IsPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// The host is a name, an IPv4 address, or an IPv6 address in brackets.
bool IsHost(std::string_view host) {
  if (host.empty()) return false;
  if (host.front() == '[') return host.size() > 2 && host.back() == ']';
  return host.find_first_of(":/[] ") == std::string_view::npos;
}

// What comes before the options.
absl::StatusOr<Endpoint> ParsePlace(std::string_view text) {
  if (text.substr(0, kUnixPrefix.size()) == kUnixPrefix) {
    const std::string_view path = text.substr(kUnixPrefix.size());
    if (path.empty() || path.front() != '/' || path.size() > kMaxUnixPath) {
      return InvalidArgument(
          fmt::format("The endpoint \"{}\" needs an absolute path of at most {} bytes after unix:.",
                      text, kMaxUnixPath));
    }
    Endpoint endpoint;
    endpoint.grpc_target = text;
    endpoint.unix_path = path;
    return endpoint;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !IsHost(text.substr(0, colon)) ||
      !IsPort(text.substr(colon + 1))) {
    return InvalidArgument(
        fmt::format("The endpoint \"{}\" is none of unix:/path, host:port and [::1]:port.", text));
  }
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  Endpoint endpoint;
  endpoint.grpc_target = fmt::format("dns:///{}", text);
  endpoint.host = host;
  endpoint.port = text.substr(colon + 1);
  return endpoint;
}

}  // namespace

absl::StatusOr<Endpoint> ParseEndpoint(std::string_view text) {
  const std::size_t option = text.find('?');
  ACCELD_ASSIGN_OR_RETURN(Endpoint endpoint, ParsePlace(text.substr(0, option)));
  endpoint.text = text;
  if (option == std::string_view::npos) return endpoint;
  const std::string_view value = text.substr(option);
  std::optional<Transport> transport;
  if (value.substr(0, kTransportOption.size()) == kTransportOption) {
    transport = Parse<Transport>(value.substr(kTransportOption.size()));
  }
  if (!transport.has_value()) {
    return InvalidArgument(
        fmt::format("The endpoint \"{}\" ends in \"{}\"; that may be ?transport= and one of best, "
                    "shm, frames and grpc.",
                    text, value));
  }
  endpoint.transport = *transport;
  return endpoint;
}

std::vector<Candidate> DefaultEndpoints(const char* acceld_endpoint, const char* runtime_dir) {
  if (acceld_endpoint != nullptr && *acceld_endpoint != '\0') {
    return {{.endpoint = acceld_endpoint, .origin = "the environment variable ACCELD_ENDPOINT"}};
  }
  std::vector<Candidate> candidates;
  if (runtime_dir != nullptr && *runtime_dir == '/') {
    candidates.push_back({.endpoint = fmt::format("unix:{}/acceld/acceld.sock", runtime_dir),
                          .origin = "the user's socket"});
  }
  candidates.push_back({.endpoint = kSystemSocket, .origin = "the system's socket"});
  return candidates;
}

}  // namespace acceld
