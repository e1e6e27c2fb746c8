#include "server/transport/data/host_block.h"

#include "backends/core/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/server/transport/data/data_test_base.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class HostBlockTest : public DataTestBase {
 protected:
  SessionTable table_{*pool_, {.host_bytes = 10'000}};
  const std::shared_ptr<Session> session_ = Open(table_);
};

TEST_F(HostBlockTest, CountsInItsSessionWhileItIsThere) {
  auto block = HostBlock::Create(session_, 10'000);
  ASSERT_THAT(block.status(), IsOk());
  EXPECT_EQ(session_->host_bytes(), 10'000u);
  EXPECT_THAT(HostBlock::Create(session_, 1).status(), HasReason(reason::kLimitExceeded));
  EXPECT_EQ(session_->host_bytes(), 10'000u);
  block->reset();
  EXPECT_EQ(session_->host_bytes(), 0u);
}

TEST_F(HostBlockTest, HasAtLeastOneByte) {
  EXPECT_THAT(HostBlock::Create(session_, 0).status(), IsInvalid("at least 1 byte"));
}

TEST_F(HostBlockTest, GivesOnlyWhatIsInside) {
  const auto block = *HostBlock::Create(session_, 100);
  EXPECT_EQ(block->At(0, 100)->size(), 100u);
  EXPECT_EQ(block->At(99, 1)->data(), block->At(0, 1)->data() + 99);
  EXPECT_EQ(block->At(100, 0)->size(), 0u);
  const std::uint64_t huge = ~std::uint64_t{0};
  for (const auto& [offset, bytes] : {std::pair<std::uint64_t, std::uint64_t>{0, 101},
                                      {100, 1},
                                      {101, 0},
                                      {1, huge},
                                      {huge, 1},
                                      {huge, huge}}) {
    EXPECT_THAT(block->At(offset, bytes).status(), IsInvalid("are beyond the host memory's 100"));
  }
}

TEST_F(HostBlockTest, IsRegisteredWithTheDeviceAsWholePagesWhileItIsThere) {
  auto block = *HostBlock::Create(session_, 5000);
  std::byte* const data = block->At(0, 1)->data();
  EXPECT_THAT(device_->registered(), ElementsAre(Pair(data, 8192u)));
  block = nullptr;
  EXPECT_THAT(device_->registered(), IsEmpty());
  EXPECT_EQ(device_->registrations(), 1);
}

TEST_F(HostBlockTest, IsThereAlsoWhereTheDeviceRegistersNone) {
  device_->FailRegisterHost(DeviceError("The device is on fire."));
  EXPECT_THAT(HostBlock::Create(session_, 100).status(), IsOk());
}

}  // namespace
}  // namespace acceld
