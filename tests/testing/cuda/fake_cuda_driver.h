// A card that is not there: keeps device memory on the host, runs kernels on the host, and computes
// what libraries do with OpenBLAS, loops and the reference (backends/reference).
//
// A stream's work runs only when somebody asks for its result, and of other streams only what it
// waits for. So work that relies on an order nobody asked for reads the wrong bytes; it is
// reported, too, as is every other misuse: memory, streams or events used after they were given
// back, given back while in use, or never.
//
// Memory that other processes can map lies in files that any fake of the same ordinal, in whatever
// process, can import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/core/mutex.h"
#include "backends/cuda/driver.h"
#include "tests/testing/cuda/stream_order.h"

namespace acceld {

struct FakeCudaOptions {
  int ordinal = 0;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  // Whether clients use memory in streams that they do not order, which is then no misuse.
  bool clients_race = false;
  // Which kernels lose the card when they run.
  std::function<bool(const cuda::Kernel&)> loses{};
  // What every call of a library comes to; OK where it is there.
  cuda::DriverStatus no_cublas{};
  cuda::DriverStatus no_cudnn{};
  // What ShareableGranularity returns.
  std::uint64_t granularity = std::uint64_t{64} << 10;
  // Called with a sentence for every misuse; from then on the fake goes on as best it can.
  std::function<void(const std::string&)> on_misuse{};
};

// Thread-safe. Its destructor reports what was not given back.
class FakeCudaDriver final : public cuda::Driver {
 public:
  // `on_misuse` is set.
  explicit FakeCudaDriver(FakeCudaOptions options);
  ~FakeCudaDriver() override;

  // ---- Faults and gates; any time ----

  // Makes the n-th call of `name` (a method of Driver, such as "Allocate"; "" is any) from now on
  // return `status` and do nothing. 1 is the next one. "Query" and "Synchronize" lose the card
  // then, whatever the status.
  void FailCall(std::string_view name, int n, cuda::DriverStatus status);
  // Makes the n-th piece of work that a stream runs from now on lose the card.
  void LoseAt(int n);
  // Until Release, nothing runs.
  void Hold();
  void Release();
  // Until ReleaseCalls, whoever calls `name` waits in it; that call counts already.
  void HoldCalls(std::string_view name);
  void ReleaseCalls();

  // ---- What was seen ----

  int calls(std::string_view name) const;
  bool lost() const;
  // Waits until `name` has been called `count` times.
  void WaitForCalls(std::string_view name, int count);
  // What the pool holds, used or not.
  std::uint64_t pool_bytes() const;
  // The priority of each stream there is.
  std::vector<int> priorities() const;

  // ---- Driver ----

  cuda::DriverStatus Init() override;
  const DeviceInfo& info() const override { return info_; }
  cuda::DriverResult<cuda::CardMemory> Memory() override;
  cuda::DriverResult<std::byte*> Allocate(cuda::StreamHandle stream, std::uint64_t bytes) override;
  cuda::DriverStatus Free(cuda::StreamHandle stream, std::byte* data) override;
  cuda::DriverStatus TrimPool() override;
  cuda::DriverResult<std::byte*> AllocateHost(std::uint64_t bytes) override;
  cuda::DriverStatus FreeHost(std::byte* data) override;
  cuda::DriverStatus RegisterHost(std::byte* data, std::uint64_t bytes) override;
  cuda::DriverStatus UnregisterHost(std::byte* data) override;
  std::uint64_t ShareableGranularity() const override { return options_.granularity; }
  cuda::DriverResult<cuda::MemoryHandle> CreateMemory(std::uint64_t bytes) override;
  cuda::DriverResult<UniqueFd> ExportMemory(cuda::MemoryHandle memory) override;
  cuda::DriverResult<cuda::MemoryHandle> ImportMemory(int descriptor) override;
  cuda::DriverStatus ReleaseMemory(cuda::MemoryHandle memory) override;
  cuda::DriverResult<std::byte*> ReserveAddresses(std::uint64_t bytes) override;
  cuda::DriverStatus FreeAddresses(std::byte* address, std::uint64_t bytes) override;
  cuda::DriverStatus MapMemory(std::byte* address, std::uint64_t bytes,
                               cuda::MemoryHandle memory) override;
  cuda::DriverStatus SetAccess(std::byte* address, std::uint64_t bytes) override;
  cuda::DriverStatus UnmapMemory(std::byte* address, std::uint64_t bytes) override;
  cuda::DriverResult<cuda::StreamHandle> CreateStream(int priority) override;
  cuda::DriverStatus DestroyStream(cuda::StreamHandle stream) override;
  cuda::DriverStatus Synchronize(cuda::StreamHandle stream) override;
  cuda::DriverStatus SynchronizeAll() override;
  cuda::DriverResult<cuda::EventHandle> CreateEvent() override;
  cuda::DriverStatus DestroyEvent(cuda::EventHandle event) override;
  cuda::DriverStatus Record(cuda::EventHandle event, cuda::StreamHandle stream) override;
  cuda::DriverStatus Query(cuda::EventHandle event) override;
  cuda::DriverStatus Wait(cuda::StreamHandle stream, cuda::EventHandle event) override;
  cuda::DriverResult<std::chrono::nanoseconds> Elapsed(cuda::EventHandle start,
                                                       cuda::EventHandle stop) override;
  cuda::DriverStatus CopyToDevice(cuda::StreamHandle stream, std::byte* target,
                                  const std::byte* source, std::uint64_t bytes) override;
  cuda::DriverStatus CopyToHost(cuda::StreamHandle stream, std::byte* target,
                                const std::byte* source, std::uint64_t bytes) override;
  cuda::DriverStatus CopyOnDevice(cuda::StreamHandle stream, std::byte* target,
                                  const std::byte* source, std::uint64_t bytes) override;
  cuda::DriverStatus Memset(cuda::StreamHandle stream, std::byte* target, std::uint8_t value,
                            std::uint64_t bytes) override;
  cuda::DriverStatus Launch(cuda::StreamHandle stream, const cuda::Kernel& kernel) override;
  cuda::DriverStatus Reduce(cuda::StreamHandle stream, const cuda::ReductionCall& call) override;
  std::uint64_t GemmWorkspaceBytes() const override { return 4096; }
  cuda::DriverStatus Gemm(cuda::StreamHandle stream, const cuda::GemmCall& call) override;
  cuda::DriverResult<cuda::ConvolutionPlan> PlanConvolution(
      const cuda::ConvolutionKey& key) override;
  cuda::DriverStatus DestroyConvolution(cuda::ConvolutionHandle plan) override;
  cuda::DriverStatus RunConvolution(cuda::StreamHandle stream, cuda::ConvolutionHandle plan,
                                    const cuda::ConvolutionCall& call) override;
  cuda::DriverStatus BeginCapture(cuda::StreamHandle stream) override;
  cuda::DriverResult<cuda::GraphHandle> EndCapture(cuda::StreamHandle stream) override;
  cuda::DriverStatus LaunchGraph(cuda::StreamHandle stream, cuda::GraphHandle graph) override;
  cuda::DriverStatus DestroyGraph(cuda::GraphHandle graph) override;

 private:
  struct Task {
    std::function<void()> run;
    // Else it is bookkeeping: events and memory.
    bool is_work = false;
  };

  // A call of Record.
  struct Mark {
    cuda::StreamHandle stream{};
    // Of the stream's tasks, so many are before it.
    std::uint64_t position = 0;
    StreamClock clock;
    // When it was reached, on the card's clock; 0 before.
    std::int64_t time_ns = 0;
  };
  // Device memory, or pinned memory of the host.
  struct Block {
    std::uint64_t bytes = 0;
    bool on_host = false;
    // Where it was allocated.
    cuda::StreamHandle stream{};
    AccessOrder order;
    // Null where it is the caller's.
    std::shared_ptr<std::byte> storage;
  };
  // What a MemoryHandle is of; goes with the last handle and mapping.
  struct SharedFile {
    UniqueFd file;
    std::uint64_t bytes = 0;
  };
  struct Reservation {
    std::uint64_t bytes = 0;
    // Null where nothing is mapped.
    std::shared_ptr<const SharedFile> mapped{};
  };
  struct Operand {
    const void* data;
    std::uint64_t bytes;
    bool on_host;
    bool writes;
  };

  static std::vector<Operand> OperandsOf(const cuda::Kernel& kernel);

  // What a stream that captures, or its graph, has.
  struct CapturedWork {
    std::string name;
    std::vector<Operand> operands;
    std::function<void()> run;
  };
  struct Graph {
    std::vector<CapturedWork> work;
    // The end of its latest launch.
    Mark launched;
  };
  struct StreamState {
    int priority = 0;
    std::deque<Task> tasks;
    std::uint64_t submitted = 0;
    std::uint64_t executed = 0;
    StreamClock clock;
    bool capturing = false;
    std::vector<CapturedWork> captured;
  };

  // Counts a call, and waits where it is held; its fault, or the card's loss.
  cuda::DriverStatus Enter(std::string_view name) ACCELD_REQUIRES(mutex_);
  void Misuse(const std::string& what) const;
  // Takes a stream that has ended out of all clocks, which would grow with every stream there was.
  void ForgetStream(cuda::StreamHandle stream) ACCELD_REQUIRES(mutex_);
  StreamState* Find(cuda::StreamHandle stream, std::string_view name) ACCELD_REQUIRES(mutex_);
  std::shared_ptr<Mark>* Find(cuda::EventHandle event, std::string_view name)
      ACCELD_REQUIRES(mutex_);
  // Submits work on `operands` to a stream.
  cuda::DriverStatus Submit(std::string_view name, cuda::StreamHandle stream,
                            const std::vector<Operand>& operands, std::function<void()> run)
      ACCELD_EXCLUDES(mutex_);
  void Submit(cuda::StreamHandle stream, StreamState& state, const CapturedWork& work)
      ACCELD_REQUIRES(mutex_);
  // Puts a task behind what the stream has, and behind what the host has seen.
  void Append(StreamState& state, cuda::StreamHandle stream, Task task) ACCELD_REQUIRES(mutex_);
  void CheckOperand(std::string_view name, const Operand& operand, cuda::StreamHandle stream,
                    const StreamState& state) ACCELD_REQUIRES(mutex_);
  // Runs what a stream has up to `position`, and what that waits for. False where the gate is
  // closed or the card is lost.
  bool RunUpTo(cuda::StreamHandle stream, std::uint64_t position) ACCELD_REQUIRES(mutex_);
  // What is held of the card.
  std::uint64_t HeldBytes() const ACCELD_REQUIRES(mutex_);
  // The name of every file that holds memory of this card.
  std::string FileName() const;
  // The reservation of exactly this.
  Reservation* FindReservation(std::string_view name, std::byte* address, std::uint64_t bytes)
      ACCELD_REQUIRES(mutex_);
  // Null where the host has no more.
  std::byte* NewMemory(std::uint64_t bytes, bool on_host) ACCELD_REQUIRES(mutex_);
  // Takes pinned memory out.
  cuda::DriverStatus EndHostMemory(std::string_view name, std::byte* data) ACCELD_EXCLUDES(mutex_);

  const FakeCudaOptions options_;
  DeviceInfo info_;
  mutable Mutex mutex_;
  CondVar called_;
  bool initialized_ ACCELD_GUARDED_BY(mutex_) = false;
  bool held_ ACCELD_GUARDED_BY(mutex_) = false;
  // Empty: none.
  std::string held_calls_ ACCELD_GUARDED_BY(mutex_);
  bool lost_ ACCELD_GUARDED_BY(mutex_) = false;
  // Pieces of work until the card is lost; 0: it is not.
  int lose_in_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int, std::less<>> calls_ ACCELD_GUARDED_BY(mutex_);
  // By name, and the number of the call.
  std::map<std::pair<std::string, int>, cuda::DriverStatus> faults_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t last_handle_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::map<cuda::StreamHandle, StreamState> streams_ ACCELD_GUARDED_BY(mutex_);
  std::map<cuda::EventHandle, std::shared_ptr<Mark>> events_ ACCELD_GUARDED_BY(mutex_);
  // What the host has seen done.
  StreamClock seen_ ACCELD_GUARDED_BY(mutex_);
  std::int64_t now_ns_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::map<const std::byte*, Block> memory_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t used_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  // Sizes of what the pool keeps.
  std::multiset<std::uint64_t> kept_ ACCELD_GUARDED_BY(mutex_);
  // Of files that were made here.
  std::uint64_t file_bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::map<cuda::MemoryHandle, std::shared_ptr<const SharedFile>> files_ ACCELD_GUARDED_BY(mutex_);
  std::map<std::byte*, Reservation> reservations_ ACCELD_GUARDED_BY(mutex_);
  std::map<cuda::ConvolutionHandle, cuda::ConvolutionKey> plans_ ACCELD_GUARDED_BY(mutex_);
  std::map<cuda::GraphHandle, Graph> graphs_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld
