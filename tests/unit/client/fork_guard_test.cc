#include "client/fork_guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "gtest/gtest.h"

namespace acceld {
namespace {

// Whether `check` holds in a forked child.
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ForkGuardTest, TheProcessThatMadeItIsNoChild) { EXPECT_FALSE(ForkGuard().InChild()); }

TEST(ForkGuardTest, AForkedChildKnowsThatItIsOneAndItsParentStaysWhatItIs) {
  const ForkGuard guard;
  EXPECT_TRUE(HoldsInChild([&] { return guard.InChild(); }));
  EXPECT_FALSE(guard.InChild());
}

TEST(ForkGuardTest, AGrandchildKnowsToo) {
  const ForkGuard guard;
  EXPECT_TRUE(HoldsInChild([&] { return HoldsInChild([&] { return guard.InChild(); }); }));
}

TEST(ForkGuardTest, WhatAChildMakesIsItsOwn) {
  const ForkGuard before_fork;
  EXPECT_TRUE(HoldsInChild([] { return !ForkGuard().InChild(); }));
}

}  // namespace
}  // namespace acceld
