// Things that are costly to make and serve one user at a time, kept for the next use of their key.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "absl/hash/hash.h"
#include "backends/core/mutex.h"

namespace acceld {

// Thread-safe. Whoever takes a value has it alone until it is put back, so that two users of one
// key have a value each.
template <typename Key, typename Value>
class LruPool {
 public:
  // Keeps up to `capacity` values.
  explicit LruPool(std::size_t capacity) : capacity_(capacity) {}
  LruPool(const LruPool&) = delete;
  LruPool& operator=(const LruPool&) = delete;

  // A value put with an equal key; null where there is none.
  std::unique_ptr<Value> Take(const Key& key) {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    std::unique_ptr<Value> value = std::move(found->second->value);
    by_age_.erase(found->second);
    by_key_.erase(found);
    return value;
  }

  // Beyond the capacity the value that was put longest ago is destroyed. So is this one where there
  // is no memory to keep it: whoever is done with a value has nobody to tell.
  void Put(const Key& key, std::unique_ptr<Value> value) noexcept {
    // Both destroyed unlocked.
    std::list<Entry> entry;
    std::unique_ptr<Value> oldest;
    try {
      entry.push_back({key, std::move(value)});
      const MutexLock lock(mutex_);
      by_key_.emplace(key, entry.begin());
      by_age_.splice(by_age_.end(), entry);
      if (by_age_.size() > capacity_) oldest = TakeOldest();
    } catch (const std::bad_alloc&) {
    }
  }

  std::size_t size() const {
    const MutexLock lock(mutex_);
    return by_age_.size();
  }

 private:
  struct Entry {
    Key key;
    std::unique_ptr<Value> value;
  };

  std::unique_ptr<Value> TakeOldest() ACCELD_REQUIRES(mutex_) {
    auto [entry, end] = by_key_.equal_range(by_age_.front().key);
    while (entry != end && entry->second != by_age_.begin()) ++entry;
    by_key_.erase(entry);
    std::unique_ptr<Value> value = std::move(by_age_.front().value);
    by_age_.pop_front();
    return value;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  // Both have every value: from the oldest to the youngest, and by key.
  std::list<Entry> by_age_ ACCELD_GUARDED_BY(mutex_);
  std::unordered_multimap<Key, typename std::list<Entry>::iterator, absl::Hash<Key>> by_key_
      ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
