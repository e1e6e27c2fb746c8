#include "backends/cuda/plan_cache.h"

namespace acceld::cuda {

std::shared_ptr<const ConvolutionPlan> PlanCache::Find(const ConvolutionKey& key) {
  MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->plan;
}

DriverResult<std::shared_ptr<const ConvolutionPlan>> PlanCache::Get(const ConvolutionKey& key) {
  if (auto plan = Find(key); plan != nullptr) return {.value = std::move(plan)};
  DriverResult<ConvolutionPlan> planned = driver_.PlanConvolution(key);
  if (!planned.ok()) return {.status = std::move(planned.status)};
  std::shared_ptr<const ConvolutionPlan> plan(new ConvolutionPlan(planned.value),
                                              [this](const ConvolutionPlan* gone) {
                                                (void)driver_.DestroyConvolution(gone->handle);
                                                delete gone;
                                              });
  std::list<Entry> evicted;  // Destroyed without the lock.
  MutexLock lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    return {.value = found->second->plan};  // Another thread has planned it meanwhile.
  }
  entries_.push_front({.key = key, .plan = plan});
  by_key_.emplace(key, entries_.begin());
  if (entries_.size() > max_plans_) {
    by_key_.erase(entries_.back().key);
    evicted.splice(evicted.end(), entries_, std::prev(entries_.end()));
  }
  return {.value = std::move(plan)};
}

}  // namespace acceld::cuda
