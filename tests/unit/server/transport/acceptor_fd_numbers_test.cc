#include "server/transport/acceptor_fd_numbers.h"

#include <fcntl.h>

#include "gtest/gtest.h"

namespace acceld {
namespace {

// Numbers that nothing else in this process uses.
constexpr int kFirst = 300;

class FdNumbersTest : public ::testing::Test {
 protected:
  const UniqueFd file_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

TEST_F(FdNumbersTest, GoAroundTheRange) {
  FdNumbers numbers(kFirst, kFirst + 3);
  for (const int expected : {kFirst, kFirst + 1, kFirst + 2, kFirst}) {
    const UniqueFd duplicate = numbers.Duplicate(file_.get());
    EXPECT_EQ(duplicate.get(), expected);
  }
}

TEST_F(FdNumbersTest, SkipNumbersInUse) {
  FdNumbers numbers(kFirst, kFirst + 3);
  const UniqueFd first = numbers.Duplicate(file_.get());
  const UniqueFd second = numbers.Duplicate(file_.get());
  UniqueFd third = numbers.Duplicate(file_.get());
  third.Reset();
  EXPECT_EQ(numbers.Duplicate(file_.get()).get(), kFirst + 2);
}

TEST_F(FdNumbersTest, FallBackToAnyNumberWhereTheRangeIsFull) {
  FdNumbers numbers(kFirst, kFirst + 1);
  const UniqueFd first = numbers.Duplicate(file_.get());
  const UniqueFd second = numbers.Duplicate(file_.get());
  EXPECT_TRUE(second.valid());
  EXPECT_NE(second.get(), first.get());
}

TEST_F(FdNumbersTest, FallBackToAnyNumberWhereTheRangeIsBeyondTheLimit) {
  FdNumbers numbers(1 << 30, (1 << 30) + 10);
  EXPECT_TRUE(numbers.Duplicate(file_.get()).valid());
}

TEST_F(FdNumbersTest, AreClosedOnExec) {
  FdNumbers numbers(kFirst, kFirst + 3);
  EXPECT_NE(fcntl(numbers.Duplicate(file_.get()).get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(FdNumbersTest, NameNoClosedFile) {
  EXPECT_FALSE(FdNumbers(kFirst, kFirst + 3).Duplicate(-1).valid());
}

}  // namespace
}  // namespace acceld
