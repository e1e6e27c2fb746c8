#include "backends/cpu/parallel.h"

#include <omp.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/core/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> RangesOf(int threads, std::int64_t count,
                                                            std::int64_t grain) {
  Mutex mutex;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  ParallelFor(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
    MutexLock lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

using Range = std::pair<std::int64_t, std::int64_t>;

TEST(ParallelFor, SplitsByCountGrainAndThreadsOnly) {
  EXPECT_THAT(RangesOf(3, 10, 1), testing::ElementsAre(Range(0, 4), Range(4, 7), Range(7, 10)));
  EXPECT_THAT(RangesOf(8, 10, 4), testing::ElementsAre(Range(0, 5), Range(5, 10)));
  EXPECT_THAT(RangesOf(4, 3, 1), testing::ElementsAre(Range(0, 1), Range(1, 2), Range(2, 3)));
  EXPECT_THAT(RangesOf(1, 10, 1), testing::ElementsAre(Range(0, 10)));
  EXPECT_THAT(RangesOf(4, 3, 4), testing::ElementsAre(Range(0, 3)));
  EXPECT_THAT(RangesOf(4, 0, 1), testing::IsEmpty());
}

TEST(ParallelFor, OpensNoRegionForOneRange) {
  bool in_region = true;
  ParallelFor(4, 3, 4, [&](std::int64_t, std::int64_t) { in_region = omp_in_parallel() != 0; });
  EXPECT_FALSE(in_region);
}

TEST(TryParallelFor, RunsAllRangesAndReturnsTheErrorOfTheFirstThatFails) {
  Mutex mutex;
  std::int64_t run = 0;
  const auto fail_from = [&](std::int64_t first) {
    run = 0;
    return TryParallelFor(5, 10, 1, [&](std::int64_t begin, std::int64_t end) {
      MutexLock lock(mutex);
      run += end - begin;
      return begin < first ? absl::OkStatus() : absl::InternalError(std::to_string(begin));
    });
  };
  EXPECT_EQ(fail_from(4).message(), "4");
  EXPECT_EQ(run, 10);
  EXPECT_EQ(fail_from(10), absl::OkStatus());
  EXPECT_EQ(run, 10);
}

TEST(ScopedOpenMpThreads, RestoresTheFormerNumber) {
  const int former = omp_get_max_threads();
  {
    const ScopedOpenMpThreads threads(former + 3);
    EXPECT_EQ(omp_get_max_threads(), former + 3);
  }
  EXPECT_EQ(omp_get_max_threads(), former);
}

}  // namespace
}  // namespace acceld
