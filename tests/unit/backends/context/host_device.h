// A device for tests of what is above a device: it really copies and fills its memory, and does
// nothing else. FaultyDevice around it holds back and fails its work.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backends/core/mutex.h"
#include "backends/null/null_device.h"

namespace acceld {

class HostDevice : public NullDevice {
 public:
  // Without threads, work runs inside Submit; else it runs in these, each queue's in order.
  explicit HostDevice(int threads = 0) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { WorkerLoop(); });
  }
  ~HostDevice() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  // Whether it can give mappable memory, all of it with the descriptor 7. Set it before others use
  // the device.
  bool mappable = false;

  // What quick_allocation_bytes returns. Set it before others use the device.
  std::uint64_t quick_bytes = 1 << 20;

  // How much work of a queue it takes at a time. Set it before others use the device.
  std::size_t depth = 1;

  // When work is said to have been done; where it is not set, when it was.
  std::atomic<std::chrono::steady_clock::time_point> finished{};

  // What a piece of work is said to have taken.
  std::atomic<std::chrono::nanoseconds> device_time{std::chrono::microseconds(1)};

  // Whether it has openable memory. What it exports is the descriptor of an empty file, and what it
  // imports is new memory. Set it before others use the device.
  bool openable = false;

  // Whether it has programs. Set it before others use the device.
  bool programs = false;
  // Of them, how many there are.
  int live_programs() const { return live_programs_; }

  // Called at the start of the calls they are named for. Set them before others use the device.
  std::function<void()> on_allocate;
  std::function<void()> on_release;
  std::function<void()> on_create_queue;
  std::function<void()> on_destroy_queue;

  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes, const MemoryOptions& options) override {
    if (on_allocate) on_allocate();
    return NullDevice::Allocate(bytes, options);
  }
  void Release(std::byte* data, std::uint64_t bytes) override {
    if (on_release) on_release();
    NullDevice::Release(data, bytes);
  }
  bool has_mappable_memory() const override { return mappable; }
  absl::StatusOr<int> MappableFile(const std::byte*) const override { return 7; }
  std::uint64_t quick_allocation_bytes() const override { return quick_bytes; }
  std::size_t queue_depth() const override { return depth; }
  std::uint64_t openable_granularity() const override { return openable ? 4096 : 0; }
  absl::StatusOr<UniqueFd> ExportHandle(const std::byte*) override {
    return UniqueFd(memfd_create("exported", MFD_CLOEXEC));
  }
  absl::StatusOr<std::byte*> ImportHandle(int, std::uint64_t bytes) override {
    return NullDevice::Allocate(bytes, {});
  }
  bool has_programs() const override { return programs; }
  std::unique_ptr<const DeviceProgram> MakeProgram(std::vector<Op> ops) override {
    return std::make_unique<const HostProgram>(std::move(ops), live_programs_);
  }
  absl::StatusOr<DeviceQueue> CreateQueue(int priority) override {
    if (on_create_queue) on_create_queue();
    return NullDevice::CreateQueue(priority);
  }
  void DestroyQueue(DeviceQueue queue) override {
    if (on_destroy_queue) on_destroy_queue();
    NullDevice::DestroyQueue(queue);
  }

  void Submit(DeviceQueue queue, const Work& work, WorkDone done) override {
    if (threads_.empty()) return Execute(work, done);
    MutexLock lock(mutex_);
    Queue& waiting = queues_[queue];
    waiting.work.emplace_back(&work, std::move(done));
    if (!waiting.running) ready_.push_back(queue);
    waiting.running = true;
    changed_.NotifyAll();
  }

 private:
  class HostProgram final : public DeviceProgram {
   public:
    HostProgram(std::vector<Op> ops, std::atomic<int>& live)
        : DeviceProgram(std::move(ops)), live_(live) {
      ++live_;
    }
    ~HostProgram() override { --live_; }

   private:
    std::atomic<int>& live_;
  };

  struct Queue {
    std::deque<std::pair<const Work*, WorkDone>> work;
    // Whether it is in `ready_` or a thread works on it.
    bool running = false;
  };

  static void Copy(void* target, const void* source, std::uint64_t bytes) {
    if (bytes > 0) std::memcpy(target, source, bytes);
  }

  static void Execute(const Op& op) {
    if (const auto* fill = std::get_if<ops::Memset>(&op)) {
      if (fill->bytes > 0) {
        std::memset(reinterpret_cast<void*>(fill->target), fill->value, fill->bytes);
      }
    } else if (const auto* copy = std::get_if<ops::CopyDtoD>(&op)) {
      Copy(reinterpret_cast<void*>(copy->target), reinterpret_cast<const void*>(copy->source),
           copy->bytes);
    }
  }

  void Execute(const Work& work, WorkDone& done) {
    if (const auto* write = std::get_if<HostToDevice>(&work)) {
      Copy(write->target, write->source, write->bytes);
    } else if (const auto* read = std::get_if<DeviceToHost>(&work)) {
      Copy(read->target, read->source, read->bytes);
    } else if (const auto* program = std::get_if<const DeviceProgram*>(&work)) {
      for (const Op& op : (*program)->ops()) Execute(op);
    } else {
      Execute(std::get<Op>(work));
    }
    const auto set = finished.load();
    done(
        {.status = {},
         .device_time = device_time,
         .finished = set.time_since_epoch().count() != 0 ? set : std::chrono::steady_clock::now()});
  }

  void WorkerLoop() {
    MutexLock lock(mutex_);
    while (true) {
      changed_.Wait(mutex_,
                    [this]() ACCELD_REQUIRES(mutex_) { return stopping_ || !ready_.empty(); });
      if (ready_.empty()) return;
      const DeviceQueue queue = ready_.front();
      ready_.pop_front();
      auto next = std::move(queues_[queue].work.front());
      queues_[queue].work.pop_front();
      {
        MutexUnlock unlock(mutex_);
        Execute(*next.first, next.second);
        next.second = nullptr;
      }
      Queue& waiting = queues_[queue];
      waiting.running = !waiting.work.empty();
      if (waiting.running) ready_.push_back(queue);
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::map<DeviceQueue, Queue> queues_ ACCELD_GUARDED_BY(mutex_);
  std::deque<DeviceQueue> ready_ ACCELD_GUARDED_BY(mutex_);
  bool stopping_ ACCELD_GUARDED_BY(mutex_) = false;
  std::atomic<int> live_programs_{0};
  std::vector<std::thread> threads_;
};

}  // namespace acceld
