#include <numeric>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class CopyDtoDTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    std::iota(values_.begin(), values_.end(), 0);
    room_ = Upload(values_);
  }
  std::vector<std::uint8_t> Bytes(Address address, std::size_t count) {
    return Download<std::uint8_t>(address, count);
  }

  // 0, 1, … 255, 0, … on the device at room_.
  std::vector<std::uint8_t> values_ = std::vector<std::uint8_t>(1024);
  Address room_ = 0;
};

TEST_F(CopyDtoDTest, CopiesAPartToAnOffset) {
  const Address target = Upload(std::vector<std::uint8_t>(10, 0xff));
  ASSERT_TRUE(IsOk(backend().CopyDtoD(target + 3, room_ + 101, 5)));
  EXPECT_EQ(Bytes(target, 10),
            (std::vector<std::uint8_t>{0xff, 0xff, 0xff, 101, 102, 103, 104, 105, 0xff, 0xff}));
  EXPECT_EQ(Bytes(room_, 1024), values_);
}

TEST_F(CopyDtoDTest, CopiesBetweenPartsOfOneAllocation) {
  ASSERT_TRUE(IsOk(backend().CopyDtoD(room_ + 100, room_, 100)));
  std::copy_n(values_.begin(), 100, values_.begin() + 100);
  EXPECT_EQ(Bytes(room_, 1024), values_);
  ASSERT_TRUE(IsOk(backend().CopyDtoD(room_, room_ + 512, 512)));
  std::copy_n(values_.begin() + 512, 512, values_.begin());
  EXPECT_EQ(Bytes(room_, 1024), values_);
}

TEST_F(CopyDtoDTest, CopiesManyBytes) {
  const auto values = random_.Floats(3 << 20);
  const Address source = Upload(values);
  const Address target = Alloc(values.size() * 4);
  ASSERT_TRUE(IsOk(backend().CopyDtoD(target + 4, source + 4, values.size() * 4 - 8)));
  std::vector<float> expected = values;
  expected.front() = expected.back() = 0;
  EXPECT_TRUE(SameBits(Floats(target, values.size()), expected));
}

TEST_F(CopyDtoDTest, RefusesRangesThatOverlapAndTouchesNothing) {
  for (const auto& [target, source, bytes] : {std::array<std::uint64_t, 3>{0, 0, 1},
                                              {0, 0, 100},
                                              {0, 99, 100},
                                              {99, 0, 100},
                                              {1, 0, 1023},
                                              {500, 501, 3}}) {
    EXPECT_TRUE(IsInvalidArgument(backend().CopyDtoD(room_ + target, room_ + source, bytes),
                                  {"copy_dtod", "target", "source"}));
  }
  EXPECT_EQ(Bytes(room_, 1024), values_);
}

TEST_F(CopyDtoDTest, IsANoOpOnNothingAndLooksAtNoAddress) {
  EXPECT_TRUE(IsOk(backend().CopyDtoD(0, 0, 0)));
  EXPECT_TRUE(IsOk(backend().CopyDtoD(kGarbage, ~Address{0}, 0)));
  EXPECT_TRUE(IsOk(backend().CopyDtoD(room_, room_, 0)));
}

TEST_F(CopyDtoDTest, RefusesRangesBeyondEitherAllocation) {
  const Address target = Upload(std::vector<std::uint8_t>(100, 7));
  EXPECT_TRUE(IsInvalidArgument(backend().CopyDtoD(target, room_, 101),
                                {"copy_dtod", "target", "101", "100"}));
  EXPECT_TRUE(IsInvalidArgument(backend().CopyDtoD(target, room_ + 1000, 25),
                                {"copy_dtod", "source", "1025", "1024"}));
  EXPECT_TRUE(
      IsInvalidArgument(backend().CopyDtoD(target, room_, ~std::uint64_t{0}), {"copy_dtod"}));
  EXPECT_TRUE(IsInvalidArgument(
      backend().CopyDtoD(target + 8, room_ + 8, ~std::uint64_t{0} - room_ + 1), {"copy_dtod"}));
  EXPECT_EQ(Bytes(target, 100), std::vector<std::uint8_t>(100, 7));
}

}  // namespace
}  // namespace acceld::conformance
