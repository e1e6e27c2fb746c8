#include "client/accelctl/units.h"

#include <limits>

#include "gtest/gtest.h"

namespace acceld::accelctl {
namespace {

TEST(Units, BytesAreBinary) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(1536 << 10), "1.5 MiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{141} << 30), "141.0 GiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(Units, BytesAreNeverRoundedToTheNextUnit) {
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(1023 << 10), "1023.0 KiB");
}

TEST(Units, DeviceTimeIsInMillisecondsAndThenInSeconds) {
  EXPECT_EQ(FormatMicroseconds(0), "0.000 ms");
  EXPECT_EQ(FormatMicroseconds(1'050), "1.050 ms");
  EXPECT_EQ(FormatMicroseconds(9'999'999), "9999.999 ms");
  EXPECT_EQ(FormatMicroseconds(10'000'000), "10.0 s");
}

TEST(Units, AnAgeHasItsTwoLargestUnits) {
  EXPECT_EQ(FormatAge(999), "0 s");
  EXPECT_EQ(FormatAge(59'999), "59 s");
  EXPECT_EQ(FormatAge(187'000), "3 min 07 s");
  EXPECT_EQ(FormatAge(2 * 3'600'000 + 5 * 60'000), "2 h 05 min");
  EXPECT_EQ(FormatAge(std::uint64_t{97} * 3'600'000), "4 d 01 h");
}

}  // namespace
}  // namespace acceld::accelctl
