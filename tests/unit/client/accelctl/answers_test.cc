// The daemon's answers, as text and as JSON.

#include "client/accelctl/json.h"
#include "client/accelctl/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace acceld::accelctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

v1::ServerInfo SampleInfo() {
  v1::ServerInfo info;
  info.set_version("1.2.3");
  v1::Backend& backend = *info.add_backends();
  backend.set_kind("cuda");
  backend.set_reason("No driver is installed.");
  v1::Device& device = *info.add_devices();
  device.set_kind("cpu");
  device.set_ordinal(3);
  device.set_name("A processor");
  device.set_total_memory_bytes(3 << 20);
  device.set_free_memory_bytes(0);
  device.set_memory_kind("host");
  device.mutable_capabilities()->set_bf16(true);
  device.mutable_capabilities()->set_async_copy(true);
  device.add_supported_ops("gemm");
  device.add_supported_ops("softmax");
  info.mutable_limits()->set_host_memory_bytes(1 << 30);
  info.mutable_limits()->set_ring_bytes(64 << 10);
  info.mutable_limits()->set_staging_bytes(2 << 20);
  return info;
}

v1::ListSessionsResponse SampleSessions() {
  v1::ListSessionsResponse response;
  v1::SessionUsage& session = *response.add_sessions();
  session.set_id(17);
  session.set_identity("uid:1000");
  session.set_memory_bytes(5 << 20);
  session.set_device_time_us(1500);
  session.set_ops(42);
  session.set_client_name("trainer");
  session.set_backend("cpu");
  session.set_transport("shm");
  session.set_age_ms(61'000);
  session.set_host_bytes(1 << 20);
  response.set_live_bytes(6 << 20);
  response.set_session_count(2);
  return response;
}

TEST(InfoText, ShowsTheServerItsBackendsAndItsDevices) {
  const std::string text = InfoText(SampleInfo(), "unix:/s");
  EXPECT_THAT(text, HasSubstr("endpoint  unix:/s\n"));
  EXPECT_THAT(text, HasSubstr("version   1.2.3\n"));
  EXPECT_THAT(text, HasSubstr("protocol  1\n"));
  EXPECT_THAT(text, HasSubstr("cuda     no         No driver is installed.\n"));
  EXPECT_THAT(text, HasSubstr("\ndevice cpu:3\n"));
  EXPECT_THAT(text, ContainsRegex("host memory of a session +1.0 GiB\n"));
  EXPECT_THAT(text, ContainsRegex("ring +64.0 KiB\n"));
  EXPECT_THAT(text, ContainsRegex("staging +2.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("3.0 MiB host, 0 B free\n"));
  EXPECT_THAT(text, HasSubstr("bf16, async copy\n"));
  EXPECT_THAT(text, HasSubstr("gemm, softmax\n"));
}

TEST(InfoText, SaysWhereNobodyKnowsWhatIsFree) {
  v1::ServerInfo info = SampleInfo();
  info.mutable_devices(0)->clear_free_memory_bytes();
  EXPECT_THAT(InfoText(info, ""), HasSubstr("3.0 MiB host, free not known until a session uses"));
}

TEST(InfoText, ShowsWhetherTheDaemonDrains) {
  v1::ServerInfo info = SampleInfo();
  EXPECT_THAT(InfoText(info, ""), Not(HasSubstr("draining")));
  info.set_draining(true);
  EXPECT_THAT(InfoText(info, ""), HasSubstr("draining"));
}

TEST(DevicesText, HasALineForEachDevice) {
  EXPECT_EQ(DevicesText(SampleInfo()),
            "DEVICE  NAME          MEMORY  FREE  KIND OF MEMORY  COMPUTE CAPABILITY  UUID\n"
            "cpu:3   A processor  3.0 MiB   0 B  host                             -  -\n");
}

TEST(DevicesText, HasADashWhereNobodyKnowsWhatIsFree) {
  v1::ServerInfo info = SampleInfo();
  info.mutable_devices(0)->clear_free_memory_bytes();
  EXPECT_THAT(DevicesText(info), HasSubstr("cpu:3   A processor  3.0 MiB     -  host"));
}

TEST(SessionsText, HasALineForEachSessionAndTheTotals) {
  const std::string text = SessionsText(SampleSessions());
  EXPECT_EQ(
      text,
      "ID  IDENTITY  PID   MEMORY  HOST MEMORY  DEVICE TIME  OPS  CLIENT   BACKEND  TRANSPORT  "
      "       AGE\n"
      "17  uid:1000    -  5.0 MiB      1.0 MiB     1.500 ms   42  trainer  cpu      shm        "
      "1 min 01 s\n"
      "\n"
      "2 sessions, 6.0 MiB of device memory\n");
}

TEST(Json, HasTheOriginalFieldNamesAndZeros) {
  const auto json = ToJson(v1::ListSessionsResponse());
  ASSERT_TRUE(json.ok()) << json.status();
  const auto parsed = nlohmann::json::parse(*json);
  EXPECT_EQ(parsed,
            nlohmann::json::parse(R"({"sessions": [], "live_bytes": "0", "session_count": 0})"));
  EXPECT_TRUE(json->ends_with("}\n"));
}

}  // namespace
}  // namespace acceld::accelctl
