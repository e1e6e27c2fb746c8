#include "server/service/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "gtest/gtest.h"

namespace acceld {
namespace {

class FileLimitTest : public ::testing::Test {
 protected:
  FileLimitTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~FileLimitTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  void SetSoftLimit(rlim_t soft) {
    rlimit limit = before_;
    limit.rlim_cur = soft;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_{};
};

TEST_F(FileLimitTest, IsRaisedAsFarAsTheSystemAllows) {
  SetSoftLimit(100);
  EXPECT_EQ(FileLimit(), 100);
  const auto expected = static_cast<int>(std::min<rlim_t>(before_.rlim_max, kMaxFileNumber));
  EXPECT_EQ(RaiseFileLimit(), expected);
  EXPECT_EQ(FileLimit(), expected);
}

}  // namespace
}  // namespace acceld
