// A daemon that may use a part of a card's memory.

#include <cstdlib>
#include <fstream>
#include <string>

#include "backends/core/status.h"
#include "client/remote_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"

namespace acceld {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

TEST(MemoryLimitTest, HoldsForACardAndIsWhatClientsSee) {
  const std::string config = std::string(std::getenv("TEST_TMPDIR")) + "/memory_limit.conf";
  std::ofstream(config) << "cuda { memory_limit_bytes: 67108864 }";
  const auto daemon = DaemonProcess::Start(
      {"--config=" + config, "--plugin_folder=tests/testing/plugins/fake_card"});
  RemoteBackend backend(daemon->unix_endpoint(), ConnectOptions{.kind = BackendKind::kCuda});
  ASSERT_TRUE(backend.Init().ok());
  EXPECT_EQ(backend.devices().at(0).total_memory_bytes, 64 * kMiB);

  const absl::Status refused = backend.Alloc(64 * kMiB + 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(GetReason(refused), reason::kDeviceOutOfMemory) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("cuda device 0 has no 67108865 bytes left: 0 of its limit of 67108864 bytes "
                "are in use."));
  // The next smaller request works, and then a product finds no room for its workspace.
  const Address all = backend.Alloc(64 * kMiB).value();
  const ops::Gemm gemm{
      .m = 1, .n = 1, .k = 1, .a = all, .lda = 1, .b = all, .ldb = 1, .c = all + 4, .ldc = 1};
  ASSERT_TRUE(backend.Gemm(gemm).ok());
  EXPECT_THAT(std::string(backend.Synchronize().message()),
              HasSubstr("67108864 of its limit of 67108864 bytes are in use."));
  ASSERT_TRUE(backend.Free(all).ok());
  const Address some = backend.Alloc(32 * kMiB).value();
  EXPECT_TRUE(backend.Memset(some, 1, 32 * kMiB).ok());
  EXPECT_TRUE(backend
                  .Gemm({.m = 1,
                         .n = 1,
                         .k = 1,
                         .a = some,
                         .lda = 1,
                         .b = some,
                         .ldb = 1,
                         .c = some + 4,
                         .ldc = 1})
                  .ok());
  EXPECT_TRUE(backend.Synchronize().ok());
}

}  // namespace
}  // namespace acceld
