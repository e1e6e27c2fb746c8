// How long to look before sleeping, learned from what came of it.
#pragma once

#include <algorithm>
#include <chrono>

namespace acceld {

// Used by one thread at a time. To be woken on another core takes 30 to 100 us, so it pays to look
// for about that long while traffic flows. A look in vain only takes the core from others.
class SpinTime {
 public:
  explicit SpinTime(std::chrono::nanoseconds longest) : longest_(longest), value_(longest) {}

  std::chrono::nanoseconds value() const { return value_; }

  // Looked for all of value() in vain, and was woken after `slept`.
  void Slept(std::chrono::nanoseconds slept) {
    // A little more patience would have paid.
    value_ = slept < longest_ ? longest_ : std::max(kShortest, value_ / 4);
  }

 private:
  static constexpr std::chrono::nanoseconds kShortest{1'000};

  const std::chrono::nanoseconds longest_;
  std::chrono::nanoseconds value_;
};

// Tells the processor that this is a loop that waits.
inline void SpinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace acceld
