#include "backends/cpu/lru_pool.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace acceld {
namespace {

using Pool = LruPool<std::string, int>;

int ValueOf(const std::unique_ptr<int>& value) { return value == nullptr ? -1 : *value; }

TEST(LruPool, GivesBackWhatWasPutForTheKey) {
  Pool pool(4);
  pool.Put("a", std::make_unique<int>(1));
  pool.Put("b", std::make_unique<int>(2));
  EXPECT_EQ(ValueOf(pool.Take("b")), 2);
  EXPECT_EQ(ValueOf(pool.Take("c")), -1);
  EXPECT_EQ(ValueOf(pool.Take("a")), 1);
}

TEST(LruPool, GivesAValueToOneUserAtATime) {
  Pool pool(4);
  pool.Put("a", std::make_unique<int>(1));
  EXPECT_EQ(ValueOf(pool.Take("a")), 1);
  EXPECT_EQ(ValueOf(pool.Take("a")), -1);
}

TEST(LruPool, HoldsSeveralValuesOfOneKey) {
  Pool pool(4);
  pool.Put("a", std::make_unique<int>(1));
  pool.Put("a", std::make_unique<int>(2));
  const int first = ValueOf(pool.Take("a"));
  const int second = ValueOf(pool.Take("a"));
  EXPECT_EQ(first + second, 3);
  EXPECT_EQ(pool.size(), 0u);
}

TEST(LruPool, IsBoundedAndDropsTheLeastRecentlyUsed) {
  Pool pool(2);
  pool.Put("a", std::make_unique<int>(1));
  pool.Put("b", std::make_unique<int>(2));
  pool.Put("a", pool.Take("a"));
  pool.Put("c", std::make_unique<int>(3));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(ValueOf(pool.Take("b")), -1);
  EXPECT_EQ(ValueOf(pool.Take("a")), 1);
  EXPECT_EQ(ValueOf(pool.Take("c")), 3);
}

TEST(LruPool, DropsTheOlderOfTwoValuesOfOneKey) {
  Pool pool(2);
  pool.Put("a", std::make_unique<int>(1));
  pool.Put("a", std::make_unique<int>(2));
  pool.Put("a", std::make_unique<int>(3));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(ValueOf(pool.Take("a")) + ValueOf(pool.Take("a")), 5);
}

// A key for whose place in the pool there is no memory now and then.
struct FailingKey {
  int number;

  static inline bool fails = false;

  friend bool operator==(const FailingKey&, const FailingKey&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const FailingKey& key) {
    if (fails) throw std::bad_alloc();
    return H::combine(std::move(state), key.number);
  }
};

TEST(LruPool, DropsAValueThatThereIsNoMemoryToKeep) {
  LruPool<FailingKey, int> pool(2);
  pool.Put({1}, std::make_unique<int>(1));
  FailingKey::fails = true;
  pool.Put({2}, std::make_unique<int>(2));
  FailingKey::fails = false;
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(ValueOf(pool.Take({2})), -1);
  for (int i = 3; i < 6; ++i) pool.Put({i}, std::make_unique<int>(i));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(ValueOf(pool.Take({4})), 4);
  EXPECT_EQ(ValueOf(pool.Take({5})), 5);
}

TEST(LruPool, ReusesValuesPutAndTakenManyTimes) {
  Pool pool(3);
  for (int i = 0; i < 1000; ++i) pool.Put(std::to_string(i % 5), std::make_unique<int>(i));
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_EQ(ValueOf(pool.Take(std::to_string(999 % 5))), 999);
}

}  // namespace
}  // namespace acceld
