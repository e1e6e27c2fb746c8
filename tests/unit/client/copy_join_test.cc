#include "client/copy_join.h"

#include "backends/core/status.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/context/outcome.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

TEST(CopyJoinTest, IsDoneWithItsLastCommand) {
  const Outcome<absl::Status> done;
  CopyJoin join(3, done);
  join.Take(absl::OkStatus());
  join.Take(absl::OkStatus());
  EXPECT_TRUE(done.pending());
  join.Take(absl::OkStatus());
  EXPECT_THAT(done.Get(), IsOk());
  EXPECT_EQ(done.calls(), 1u);
}

TEST(CopyJoinTest, ReportsTheFirstError) {
  const Outcome<absl::Status> done;
  CopyJoin join(3, done);
  join.Take(absl::OkStatus());
  join.Take(DeviceError("The first."));
  join.Take(DeviceError("The second."));
  EXPECT_EQ(done.Get(), DeviceError("The first."));
}

}  // namespace
}  // namespace acceld
