// The bytes of one copy to the device, while gRPC sends them from where they are.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "backends/core/mutex.h"
#include "grpcpp/support/slice.h"

namespace acceld {

// Thread-safe.
class Departure {
 public:
  // `host` keeps the bytes; may be null where somebody waits for them.
  explicit Departure(std::shared_ptr<const void> host) : host_(std::move(host)) {}

  // A slice of some of the bytes, which keeps `departure`.
  static grpc::Slice Add(const std::shared_ptr<Departure>& departure,
                         absl::Span<const std::byte> bytes) {
    {
      MutexLock lock(departure->mutex_);
      ++departure->unsent_;
    }
    // gRPC only reads the bytes.
    return grpc::Slice(const_cast<std::byte*>(bytes.data()), bytes.size(), Leave,
                       new std::shared_ptr<Departure>(departure));
  }

  // Waits until gRPC has let go of all slices: the bytes have left, or never will.
  void Wait() {
    MutexLock lock(mutex_);
    sent_.Wait(mutex_, [this]() ACCELD_REQUIRES(mutex_) { return unsent_ == 0; });
  }

 private:
  // Called by gRPC, on any thread, when it lets go of a slice.
  static void Leave(void* data) {
    const std::unique_ptr<std::shared_ptr<Departure>> departure(
        static_cast<std::shared_ptr<Departure>*>(data));
    Departure& self = **departure;
    MutexLock lock(self.mutex_);
    if (--self.unsent_ == 0) self.sent_.NotifyAll();
  }

  const std::shared_ptr<const void> host_;
  Mutex mutex_;
  CondVar sent_;
  std::size_t unsent_ ACCELD_GUARDED_BY(mutex_) = 0;
};

}  // namespace acceld
