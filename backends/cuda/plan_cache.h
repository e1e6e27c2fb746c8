// The plans of convolutions that were used last: to make one takes milliseconds, to run one
// microseconds.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "backends/core/mutex.h"
#include "backends/cuda/driver.h"

namespace acceld::cuda {

// Thread-safe.
class PlanCache {
 public:
  // Networks have tens of different convolutions, each with two gradients.
  static constexpr std::size_t kMaxPlans = 512;

  // `driver` outlives the cache and the plans.
  explicit PlanCache(Driver& driver, std::size_t max_plans = kMaxPlans)
      : driver_(driver), max_plans_(max_plans) {}

  // The plan for `key`. Whoever runs it keeps the pointer until the run is done; the plan goes with
  // the last one.
  DriverResult<std::shared_ptr<const ConvolutionPlan>> Get(const ConvolutionKey& key);
  // The same where it is there already, else null.
  std::shared_ptr<const ConvolutionPlan> Find(const ConvolutionKey& key);

 private:
  struct Entry {
    ConvolutionKey key;
    std::shared_ptr<const ConvolutionPlan> plan;
  };

  Driver& driver_;
  const std::size_t max_plans_;
  Mutex mutex_;
  // The last used first.
  std::list<Entry> entries_ ACCELD_GUARDED_BY(mutex_);
  absl::flat_hash_map<ConvolutionKey, std::list<Entry>::iterator> by_key_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
