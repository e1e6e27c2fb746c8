// Two kinds of things that must not go on at once, each of which may by itself.
#pragma once

#include <array>
#include <cstddef>
#include <map>

#include "backends/core/mutex.h"

namespace acceld::cuda {

// Thread-safe.
class Exclusion {
 public:
  // One of the two kinds.
  class Side {
   public:
    // `exclusion` outlives it; `side` is 0 or 1.
    Side(Exclusion& exclusion, std::size_t side) : exclusion_(exclusion), side_(side) {}

    // Waits until nothing of the other kind goes on. End follows.
    void Begin() {
      MutexLock lock(exclusion_.mutex_);
      exclusion_.changed_.Wait(exclusion_.mutex_, [this]() ACCELD_REQUIRES(exclusion_.mutex_) {
        return exclusion_.going_on_[1 - side_] == 0;
      });
      ++exclusion_.going_on_[side_];
    }
    void End() {
      {
        MutexLock lock(exclusion_.mutex_);
        --exclusion_.going_on_[side_];
      }
      exclusion_.changed_.NotifyAll();
    }

   private:
    Exclusion& exclusion_;
    const std::size_t side_;
  };

 private:
  Mutex mutex_;
  CondVar changed_;
  std::array<int, 2> going_on_ ACCELD_GUARDED_BY(mutex_){};
};

// That of a card, by its ordinal: of all that use it in this process, which share its context.
inline Exclusion& ExclusionOf(int ordinal) {
  // Never destroyed, since a static driver may end later.
  static auto* const mutex = new Mutex;
  static auto* const exclusions = new std::map<int, Exclusion>;
  MutexLock lock(*mutex);
  return (*exclusions)[ordinal];
}

}  // namespace acceld::cuda
