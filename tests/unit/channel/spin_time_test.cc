#include "channel/spin_time.h"

#include "gtest/gtest.h"

namespace acceld {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(SpinTimeTest, IsLongAtFirst) {
  EXPECT_GE(SpinTime(microseconds(50)).value(), microseconds(50));
}

TEST(SpinTimeTest, SleepsThatLastMakeItShortButNeverNothing) {
  SpinTime spin{microseconds(50)};
  nanoseconds before = spin.value();
  for (int i = 0; i < 20; ++i) {
    spin.Slept(std::chrono::seconds(1));
    EXPECT_LE(spin.value(), before);
    before = spin.value();
  }
  EXPECT_LE(spin.value(), microseconds(1));
  EXPECT_GT(spin.value(), nanoseconds(0));
}

TEST(SpinTimeTest, OneShortSleepMakesItLongAgain) {
  SpinTime spin{microseconds(50)};
  const nanoseconds long_spin = spin.value();
  for (int i = 0; i < 20; ++i) spin.Slept(std::chrono::seconds(1));
  spin.Slept(microseconds(10));
  EXPECT_EQ(spin.value(), long_spin);
}

}  // namespace
}  // namespace acceld
