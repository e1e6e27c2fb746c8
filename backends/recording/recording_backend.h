// A backend that only writes down what it is asked: for the tests of code that uses a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "backends/compute_backend.h"
#include "backends/core/mutex.h"
#include "backends/memory/address_space.h"

namespace acceld {

// One call that succeeded.
struct RecordedCall {
  // An op's name ("gemm"), or the call's in the same style: "alloc", "copy_htod", "wait_event".
  std::string name;
  // Bytes of alloc, alloc_host, copy_htod, copy_dtoh, copy_dtod and memset; elements of the output
  // of every other op; 0 where there is nothing to count.
  std::uint64_t count = 0;
  Stream stream = kDefaultStream;

  friend bool operator==(const RecordedCall&, const RecordedCall&) = default;
};

// "gemm(6) on stream 0".
std::ostream& operator<<(std::ostream& out, const RecordedCall& call);

// Records every call and succeeds, without doing any work: a copy to the host gives zeros, every
// event is reached at once, elapsed times are 0. It needs no Init, and accepts any device address,
// stream, event and program. What a program records is recorded here when it is called, and a
// replay is one call.
//
// Invalid arguments, which are not recorded, are: parameters of an op that its Check refuses,
// allocations of 0 bytes, and host memory that AllocHost did not return. Map, Unmap, ExportHandle
// and ImportHandle are unsupported. Thread-safe.
class RecordingBackend : public ComputeBackend {
 public:
  // The most that one AllocHost may ask for; more is out of memory.
  static constexpr std::uint64_t kMaxHostBytes = std::uint64_t{1} << 30;

  // The calls so far, in their order. Descriptions (name, devices, …) are not among them.
  std::vector<RecordedCall> calls() const;
  // Forgets them.
  void ClearCalls();

  absl::Status Init() override;

  absl::StatusOr<Address> Alloc(std::uint64_t bytes, const AllocOptions& options = {}) override;
  absl::Status Free(Address address) override;
  absl::Status CopyHtoD(Address target, absl::Span<const std::byte> source,
                        std::optional<Stream> stream = std::nullopt) override;
  absl::Status CopyDtoH(absl::Span<std::byte> target, Address source,
                        std::optional<Stream> stream = std::nullopt) override;
  absl::StatusOr<absl::Span<std::byte>> AllocHost(std::uint64_t bytes) override;
  absl::Status FreeHost(std::byte* data) override;
  absl::StatusOr<absl::Span<std::byte>> Map(Address address) override;
  absl::Status Unmap(Address address) override;
  absl::StatusOr<ShareableHandle> ExportHandle(Address address) override;
  absl::StatusOr<Address> ImportHandle(const ShareableHandle& handle) override;

  absl::Status Run(Op op, Stream stream = kDefaultStream) override;

  absl::StatusOr<Stream> CreateStream(const StreamOptions& options = {}) override;
  absl::Status DestroyStream(Stream stream) override;
  absl::StatusOr<Event> CreateEvent() override;
  absl::Status DestroyEvent(Event event) override;
  absl::Status RecordEvent(Event event, Stream stream = kDefaultStream) override;
  absl::Status WaitEvent(Stream stream, Event event) override;
  absl::StatusOr<bool> QueryEvent(Event event) override;
  absl::Status SynchronizeEvent(Event event) override;
  absl::StatusOr<std::chrono::nanoseconds> ElapsedTime(Event start, Event stop) override;
  absl::Status SynchronizeStream(Stream stream) override;
  absl::Status Synchronize() override;

  absl::Status BeginRecording(Stream stream) override;
  absl::StatusOr<Program> EndRecording(Stream stream) override;
  absl::Status Replay(Program program, absl::Span<const Rebinding> rebindings = {},
                      Stream stream = kDefaultStream) override;
  absl::Status DestroyProgram(Program program) override;

  std::string name() const override { return "recording"; }
  // Whether Init was called.
  bool initialized() const override;
  Capabilities capabilities() const override { return {}; }
  // None.
  std::vector<DeviceInfo> devices() const override { return {}; }
  Tile RecommendedTile(std::int64_t m, std::int64_t n, std::int64_t k) const override;

 private:
  // Records a call; OK.
  absl::Status Record(std::string_view name, std::uint64_t count = 0,
                      Stream stream = kDefaultStream) ACCELD_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  bool initialized_ ACCELD_GUARDED_BY(mutex_) = false;
  std::vector<RecordedCall> calls_ ACCELD_GUARDED_BY(mutex_);
  AddressRange addresses_ ACCELD_GUARDED_BY(mutex_) = AddressSpace::ClientRange();
  std::map<std::byte*, std::unique_ptr<std::byte[]>> host_memory_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t last_stream_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_event_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_program_ ACCELD_GUARDED_BY(mutex_) = 0;
};

}  // namespace acceld
