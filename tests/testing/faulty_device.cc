#include "tests/testing/faulty_device.h"

#include <utility>

namespace acceld {

FaultyDevice::FaultyDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

FaultyDevice::~FaultyDevice() { OpenGate(); }

absl::Status FaultyDevice::Faults::Next() {
  const auto fault = by_call.extract(++calls);
  return fault.empty() ? absl::OkStatus() : fault.mapped();
}

void FaultyDevice::FailInit(absl::Status status) {
  MutexLock lock(mutex_);
  init_fault_ = std::move(status);
}

void FaultyDevice::FailSubmit(std::int64_t n, absl::Status status) {
  MutexLock lock(mutex_);
  submit_faults_.by_call[submit_faults_.calls + n] = std::move(status);
}

void FaultyDevice::FailAllocate(std::int64_t n, absl::Status status) {
  MutexLock lock(mutex_);
  allocate_faults_.by_call[allocate_faults_.calls + n] = std::move(status);
}

void FaultyDevice::FailRegisterHost(absl::Status status) {
  MutexLock lock(mutex_);
  register_fault_ = std::move(status);
}

void FaultyDevice::LoseOn(std::string name, absl::Status status) {
  MutexLock lock(mutex_);
  losing_op_ = std::move(name);
  loss_to_come_ = std::move(status);
}

void FaultyDevice::CloseGate(std::optional<DeviceQueue> queue) {
  MutexLock lock(mutex_);
  if (queue.has_value()) {
    closed_[*queue] = true;
    return;
  }
  closed_by_default_ = true;
  closed_.clear();
}

void FaultyDevice::OpenGate(std::optional<DeviceQueue> queue) {
  std::vector<DeviceQueue> opened;
  {
    MutexLock lock(mutex_);
    if (queue.has_value()) {
      closed_[*queue] = false;
      opened.push_back(*queue);
    } else {
      closed_by_default_ = false;
      closed_.clear();
      for (const auto& [each, state] : queues_) opened.push_back(each);
    }
  }
  for (DeviceQueue each : opened) PassOn(each);
}

void FaultyDevice::Pass(DeviceQueue queue, std::int64_t count) {
  {
    MutexLock lock(mutex_);
    queues_[queue].passes += count;
  }
  PassOn(queue);
}

std::size_t FaultyDevice::held() const {
  MutexLock lock(mutex_);
  return HeldLocked();
}

void FaultyDevice::WaitForHeld(std::size_t count) {
  MutexLock lock(mutex_);
  held_changed_.Wait(mutex_, [&]() ACCELD_REQUIRES(mutex_) { return HeldLocked() >= count; });
}

std::int64_t FaultyDevice::submits() const {
  MutexLock lock(mutex_);
  return submit_faults_.calls;
}

std::uint64_t FaultyDevice::live_bytes() const {
  MutexLock lock(mutex_);
  return live_bytes_;
}

std::uint64_t FaultyDevice::live_host_bytes() const {
  MutexLock lock(mutex_);
  return live_host_bytes_;
}

std::map<std::byte*, std::uint64_t> FaultyDevice::registered() const {
  MutexLock lock(mutex_);
  return registered_;
}

int FaultyDevice::registrations() const {
  MutexLock lock(mutex_);
  return registrations_;
}

absl::Status FaultyDevice::Init() {
  {
    MutexLock lock(mutex_);
    if (!init_fault_.ok()) return init_fault_;
  }
  return device_->Init();
}

const DeviceInfo& FaultyDevice::info() const { return device_->info(); }

OpSet FaultyDevice::supported_ops() const { return device_->supported_ops(); }

Tile FaultyDevice::RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const {
  return device_->RecommendedTile(m, n, k);
}

MemoryUsage FaultyDevice::memory() const { return device_->memory(); }

absl::StatusOr<std::byte*> FaultyDevice::Allocate(std::uint64_t bytes,
                                                  const MemoryOptions& options) {
  {
    MutexLock lock(mutex_);
    if (!loss_.ok()) return loss_;
    if (absl::Status fault = allocate_faults_.Next(); !fault.ok()) return fault;
  }
  absl::StatusOr<std::byte*> data = device_->Allocate(bytes, options);
  MutexLock lock(mutex_);
  if (data.ok()) live_bytes_ += bytes;
  return data;
}

std::uint64_t FaultyDevice::quick_allocation_bytes() const {
  return device_->quick_allocation_bytes();
}

void FaultyDevice::Release(std::byte* data, std::uint64_t bytes) {
  device_->Release(data, bytes);
  MutexLock lock(mutex_);
  live_bytes_ -= bytes;
}

bool FaultyDevice::has_mappable_memory() const { return device_->has_mappable_memory(); }

absl::StatusOr<int> FaultyDevice::MappableFile(const std::byte* data) const {
  return device_->MappableFile(data);
}

std::uint64_t FaultyDevice::openable_granularity() const { return device_->openable_granularity(); }

absl::StatusOr<UniqueFd> FaultyDevice::ExportHandle(const std::byte* data) {
  return device_->ExportHandle(data);
}

absl::StatusOr<std::byte*> FaultyDevice::ImportHandle(int descriptor, std::uint64_t bytes) {
  absl::StatusOr<std::byte*> data = device_->ImportHandle(descriptor, bytes);
  MutexLock lock(mutex_);
  if (data.ok()) live_bytes_ += bytes;
  return data;
}

bool FaultyDevice::has_programs() const { return device_->has_programs(); }

std::size_t FaultyDevice::queue_depth() const { return device_->queue_depth(); }

std::unique_ptr<const DeviceProgram> FaultyDevice::MakeProgram(std::vector<Op> ops) {
  return device_->MakeProgram(std::move(ops));
}

absl::StatusOr<std::byte*> FaultyDevice::AllocateHost(std::uint64_t bytes) {
  absl::StatusOr<std::byte*> data = device_->AllocateHost(bytes);
  MutexLock lock(mutex_);
  if (data.ok()) live_host_bytes_ += bytes;
  return data;
}

void FaultyDevice::ReleaseHost(std::byte* data, std::uint64_t bytes) {
  device_->ReleaseHost(data, bytes);
  MutexLock lock(mutex_);
  live_host_bytes_ -= bytes;
}

absl::Status FaultyDevice::RegisterHost(std::byte* data, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  ++registrations_;
  if (!register_fault_.ok()) return register_fault_;
  registered_.emplace(data, bytes);
  return absl::OkStatus();
}

void FaultyDevice::UnregisterHost(std::byte* data) {
  MutexLock lock(mutex_);
  registered_.erase(data);
}

absl::StatusOr<DeviceQueue> FaultyDevice::CreateQueue(int priority) {
  if (absl::Status lost = loss(); !lost.ok()) return lost;
  return device_->CreateQueue(priority);
}

void FaultyDevice::DestroyQueue(DeviceQueue queue) {
  {
    MutexLock lock(mutex_);
    queues_[queue].destroyed = true;
  }
  PassOn(queue);
}

void FaultyDevice::Submit(DeviceQueue queue, const Work& work, WorkDone done) {
  {
    MutexLock lock(mutex_);
    if (absl::Status fault = submit_faults_.Next(); !fault.ok()) {
      done = [fault = std::move(fault), done = std::move(done)](const WorkResult& result) mutable {
        WorkResult failed = result;
        failed.status = fault;
        done(failed);
      };
    }
    if (!losing_op_.empty()) {
      done = [this, loses = Loses(work), done = std::move(done)](const WorkResult& result) mutable {
        if (loses) Lose();
        WorkResult seen = result;
        if (absl::Status lost = loss(); !lost.ok()) seen.status = std::move(lost);
        done(seen);
      };
    }
    queues_[queue].pending.push_back({&work, std::move(done)});
    held_changed_.NotifyAll();
  }
  PassOn(queue);
}

void FaultyDevice::OnLost(LostCallback callback) {
  absl::Status lost;
  {
    MutexLock lock(mutex_);
    lost = loss_;
    if (lost.ok()) on_lost_ = std::move(callback);
  }
  if (!lost.ok()) callback(lost);
}

bool FaultyDevice::Loses(const Work& work) const {
  const Op* op = std::get_if<Op>(&work);
  return op != nullptr &&
         std::visit([](const auto& typed) { return typed.kName; }, *op) == losing_op_;
}

void FaultyDevice::Lose() {
  LostCallback on_lost;
  absl::Status lost;
  {
    MutexLock lock(mutex_);
    if (loss_.ok()) on_lost = std::exchange(on_lost_, nullptr);
    loss_ = lost = loss_to_come_;
  }
  if (on_lost) on_lost(lost);
}

absl::Status FaultyDevice::loss() const {
  MutexLock lock(mutex_);
  return loss_;
}

bool FaultyDevice::Closed(DeviceQueue queue) const {
  const auto found = closed_.find(queue);
  return found == closed_.end() ? closed_by_default_ : found->second;
}

std::size_t FaultyDevice::HeldLocked() const {
  std::size_t count = 0;
  for (const auto& [queue, state] : queues_) {
    if (Closed(queue)) count += state.pending.size();
  }
  return count;
}

void FaultyDevice::PassOn(DeviceQueue queue) {
  MutexLock lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end() || found->second.passing) return;
  QueueState& state = found->second;
  state.passing = true;
  while (!state.pending.empty() && (!Closed(queue) || state.passes > 0)) {
    if (Closed(queue)) --state.passes;
    PendingWork next = std::move(state.pending.front());
    state.pending.pop_front();
    MutexUnlock unlock(mutex_);
    device_->Submit(queue, *next.work, std::move(next.done));
  }
  state.passing = false;
  if (!state.destroyed || !state.pending.empty()) return;
  queues_.erase(found);
  MutexUnlock unlock(mutex_);
  device_->DestroyQueue(queue);
}

}  // namespace acceld
