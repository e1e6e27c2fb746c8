#include "backends/cpu/ops/streaming_store.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld::cpu {
namespace {

// Counts from `first` on, and how often it has been called.
struct Counting {
  float first;
  std::int64_t calls = 0;

  ACCELD_INLINE void operator()(std::int64_t i, float* values) {
    for (std::int64_t j = 0; j < kBlock; ++j) values[j] = first + static_cast<float>(i + j);
    ++calls;
  }
};

TEST(StreamBlocks, WritesItsBlocksForEachProcessorVersion) {
  using Version = Counting (*)(float* y, std::int64_t begin, std::int64_t end, Counting block);
  std::vector<Version> versions = {StreamBlocksPlainly<Counting>, StreamBlocks<Counting>};
#if ACCELD_VERSIONS
  if (ACCELD_RUNS_V3) versions.push_back(StreamBlocksForV3<Counting>);
  if (ACCELD_RUNS_V4) versions.push_back(StreamBlocksForV4<Counting>);
#endif
  constexpr std::int64_t kBlocks = 3;
  for (const Version version : versions) {
    alignas(64) float y[(kBlocks + 2) * kBlock] = {};
    const Counting after = version(y, kBlock, (kBlocks + 1) * kBlock, {.first = 7});
    FinishStreaming();
    EXPECT_EQ(after.calls, kBlocks);
    for (std::int64_t i = 0; i < std::ssize(y); ++i) {
      const bool written = kBlock <= i && i < (kBlocks + 1) * kBlock;
      ASSERT_EQ(y[i], written ? 7 + static_cast<float>(i) : 0) << i;
    }
  }
}

TEST(WriteElements, WritesItsRangeOnlyWhereverThatBegins) {
  for (const bool streamed : {false, true}) {
    for (std::int64_t offset = 0; offset <= kLine; ++offset) {
      for (std::int64_t n = 0; n <= 4 * kBlock; ++n) {
        std::vector<float> y(static_cast<std::size_t>(offset + n + 1), -1);
        WriteElements(y.data() + offset, n, streamed,
                      [](std::int64_t i) ACCELD_INLINE_LAMBDA { return static_cast<float>(i); });
        FinishStreaming();
        for (std::int64_t i = 0; i < std::ssize(y); ++i) {
          const bool written = offset <= i && i < offset + n;
          ASSERT_EQ(y[static_cast<std::size_t>(i)],
                    written ? static_cast<float>(i - offset) : -1.0f)
              << "offset " << offset << ", n " << n << ", at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace acceld::cpu
