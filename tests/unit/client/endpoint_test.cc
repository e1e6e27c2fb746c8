#include "client/endpoint.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

TEST(ParseEndpointTest, TakesUnixPaths) {
  EXPECT_EQ(*ParseEndpoint("unix:/run/acceld/acceld.sock"),
            (Endpoint{.grpc_target = "unix:/run/acceld/acceld.sock",
                      .unix_path = "/run/acceld/acceld.sock",
                      .text = "unix:/run/acceld/acceld.sock"}));
}

TEST(ParseEndpointTest, TakesHostsAndPorts) {
  for (const std::string text : {"localhost:1", "127.0.0.1:65535", "gpu-7.example.org:50051",
                                 "[::1]:50051", "[fe80::1%eth0]:50051"}) {
    const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(text);
    ASSERT_THAT(endpoint.status(), IsOk());
    EXPECT_EQ(endpoint->grpc_target, "dns:///" + text);
    EXPECT_EQ(endpoint->text, text);
  }
}

TEST(ParseEndpointTest, TakesHostsAndPortsApart) {
  EXPECT_EQ(*ParseEndpoint("localhost:80"), (Endpoint{.grpc_target = "dns:///localhost:80",
                                                      .host = "localhost",
                                                      .port = "80",
                                                      .text = "localhost:80"}));
  EXPECT_EQ(ParseEndpoint("[fe80::1%eth0]:7")->host, "fe80::1%eth0");
  EXPECT_EQ(ParseEndpoint("[fe80::1%eth0]:7")->port, "7");
}

TEST(ParseEndpointTest, TakesATransport) {
  const std::pair<const char*, Transport> cases[] = {{"", Transport::kBest},
                                                     {"?transport=best", Transport::kBest},
                                                     {"?transport=shm", Transport::kSharedMemory},
                                                     {"?transport=frames", Transport::kFrames},
                                                     {"?transport=grpc", Transport::kGrpc}};
  for (const std::string place : {"unix:/a.sock", "localhost:80", "[::1]:80"}) {
    for (const auto& [option, transport] : cases) {
      const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(place + option);
      ASSERT_THAT(endpoint.status(), IsOk());
      EXPECT_EQ(endpoint->transport, transport);
      EXPECT_EQ(endpoint->grpc_target, ParseEndpoint(place)->grpc_target);
      EXPECT_EQ(endpoint->text, place + option);
    }
  }
}

TEST(ParseEndpointTest, RefusesOptionsThatAreNone) {
  for (const char* option :
       {"?", "?transport", "?transport=", "?transport=carrier", "?transport=shared", "?tls=1",
        "?transport=shm&x", "?x?transport=shm"}) {
    EXPECT_THAT(ParseEndpoint(std::string("unix:/a.sock") + option).status(),
                IsInvalid("that may be ?transport= and one of best, shm, frames and grpc"));
  }
  EXPECT_THAT(ParseEndpoint("localhost?transport=shm").status(), IsInvalid("is none of"));
}

TEST(ParseEndpointTest, RefusesUnixPathsThatAreNotAbsolute) {
  for (const char* text : {"unix:", "unix:acceld.sock", "unix:./acceld.sock"}) {
    EXPECT_THAT(ParseEndpoint(text).status(), IsInvalid("needs an absolute path"));
  }
}

TEST(ParseEndpointTest, RefusesUnixPathsThatNoSocketCanHave) {
  EXPECT_THAT(ParseEndpoint("unix:/" + std::string(106, 'x')).status(), IsOk());
  EXPECT_THAT(ParseEndpoint("unix:/" + std::string(107, 'x')).status(),
              IsInvalid("at most 107 bytes"));
}

TEST(ParseEndpointTest, RefusesEverythingElseAndShowsIt) {
  for (const std::string text :
       {"", ":", "host", "host:", ":50051", "host:0", "host:65536", "host:-1", "host:+1",
        "host:99999999999", "host:50051x", "host: 50051", "::1:50051", "[]:50051", "[::1]",
        "[::1]50051", "/run/acceld.sock", "http://host:50051", "a host:50051"}) {
    EXPECT_THAT(ParseEndpoint(text).status(),
                IsInvalid("The endpoint \"" + text + "\" is none of"));
  }
}

std::vector<std::string> Endpoints(const char* acceld_endpoint, const char* runtime_dir) {
  std::vector<std::string> endpoints;
  for (const Candidate& candidate : DefaultEndpoints(acceld_endpoint, runtime_dir)) {
    EXPECT_NE(candidate.origin, "");
    endpoints.push_back(candidate.endpoint);
  }
  return endpoints;
}

using ::testing::ElementsAre;

TEST(DefaultEndpointsTest, TheEnvironmentVariableIsTheOnlyOneWhereItIsSet) {
  EXPECT_THAT(Endpoints("host:1", "/run/user/1000"), ElementsAre("host:1"));
}

TEST(DefaultEndpointsTest, TheUsersSocketComesBeforeTheSystems) {
  for (const char* unset : {static_cast<const char*>(nullptr), ""}) {
    EXPECT_THAT(
        Endpoints(unset, "/run/user/1000"),
        ElementsAre("unix:/run/user/1000/acceld/acceld.sock", "unix:/run/acceld/acceld.sock"));
  }
}

TEST(DefaultEndpointsTest, WithoutARuntimeFolderThereIsOnlyTheSystemsSocket) {
  for (const char* unusable : {static_cast<const char*>(nullptr), "", "relative"}) {
    EXPECT_THAT(Endpoints(nullptr, unusable), ElementsAre("unix:/run/acceld/acceld.sock"));
  }
}

}  // namespace
}  // namespace acceld
