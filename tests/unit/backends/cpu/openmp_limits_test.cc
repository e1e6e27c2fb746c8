// With OMP_DYNAMIC=true and OMP_THREAD_LIMIT=1 in the environment, as BUILD.bazel says.
#include <omp.h>

#include "backends/cpu/parallel.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

// Libraries that share out work among threads wait for all of them.
TEST(OpenMpLimits, ScopedOpenMpThreadsAreNoFewerByChance) {
  ASSERT_NE(omp_get_dynamic(), 0);
  {
    const ScopedOpenMpThreads threads(1);
    EXPECT_EQ(omp_get_dynamic(), 0);
  }
  EXPECT_NE(omp_get_dynamic(), 0);
}

TEST(OpenMpLimits, ByDefaultADeviceHasNoMoreThreadsThanOpenMpGives) {
  ASSERT_EQ(omp_get_thread_limit(), 1);
  EXPECT_THAT(MakeCpuDevice()->Init(), IsOk());
}

TEST(OpenMpLimits, ADeviceRefusesMoreThreadsThanOpenMpGives) {
  EXPECT_THAT(MakeCpuDevice({.threads = 2})->Init(), IsInvalid("OMP_THREAD_LIMIT allows 1"));
  EXPECT_THAT(MakeCpuDevice({.threads = 1})->Init(), IsOk());
}

}  // namespace
}  // namespace acceld
