// The checks of memset and copy_dtod, which count bytes.
#include <limits>

#include "backends/ops/copy_dtod.h"
#include "backends/ops/memset.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld::ops {
namespace {

template <typename Op>
class BytesTest : public ::testing::Test {};

using ByteOps = ::testing::Types<Memset, CopyDtoD>;
TYPED_TEST_SUITE(BytesTest, ByteOps);

TYPED_TEST(BytesTest, BytesAreAtMost2To62) {
  for (std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{1} << 62}) {
    EXPECT_THAT(TypeParam{.bytes = bytes}.Check(), IsOk());
  }
  for (std::uint64_t bytes : {(std::uint64_t{1} << 62) + 1, std::uint64_t{1} << 63,
                              std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_THAT(TypeParam{.bytes = bytes}.Check(), IsInvalid("Argument bytes of"));
  }
}

TYPED_TEST(BytesTest, WritesItsTargetOfAnyAlignment) {
  TypeParam op{.bytes = 7};
  const Operand target = op.Operands().back();
  EXPECT_EQ(target.address, &op.target);
  EXPECT_EQ(target.access, Access::kWrite);
  EXPECT_EQ(target.element_bytes, 1u);
  EXPECT_TRUE(target.ExtentBytes() == 7);
}

TEST(CopyDtoDTest, ReadsItsSource) {
  CopyDtoD op{.bytes = 7};
  const Operand source = op.Operands().front();
  EXPECT_EQ(source.address, &op.source);
  EXPECT_EQ(source.access, Access::kRead);
  EXPECT_TRUE(source.ExtentBytes() == 7);
}

}  // namespace
}  // namespace acceld::ops
