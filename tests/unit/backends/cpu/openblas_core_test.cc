#include "backends/cpu/openblas_core.h"

#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(BetterOpenBlasCore, IsOneThatTheProcessorIs) {
  const bool has_avx2 = __builtin_cpu_supports("x86-64-v3");
  const bool has_avx512 = __builtin_cpu_supports("x86-64-v4");
  EXPECT_EQ(BetterOpenBlasCore("Prescott"), has_avx512 ? "SkylakeX" : (has_avx2 ? "Haswell" : ""));
}

TEST(BetterOpenBlasCore, IsNoneWhereOpenBlasKnowsTheProcessor) {
  EXPECT_EQ(BetterOpenBlasCore("Zen"), "");
  EXPECT_EQ(BetterOpenBlasCore("SkylakeX"), "");
}

TEST(OpenBlasCore, HasAName) { EXPECT_NE(OpenBlasCore(), ""); }

}  // namespace
}  // namespace acceld
