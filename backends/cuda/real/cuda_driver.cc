#include "backends/cuda/real/cuda_driver.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/cuda/real/cublas.h"
#include "backends/cuda/real/cuda_errors.h"
#include "backends/cuda/real/cudnn.h"
#include "backends/cuda/real/exclusion.h"
#include "backends/cuda/real/launch.h"
#include "backends/cuda/real/reduce_rows.h"
#include "backends/cuda/real/relaxed_capture.h"
#include "backends/cuda/real/virtual_memory.h"
#include "fmt/format.h"

namespace acceld::cuda {
namespace {

// The oldest architecture that there is machine code for (bazel/cuda.bzl).
constexpr int kMinMajor = 8;

// The pool keeps up to this part of what it may use.
constexpr std::uint64_t kKeptPart = 8;

cudaStream_t ToCuda(StreamHandle stream) { return reinterpret_cast<cudaStream_t>(stream); }
cudaEvent_t ToCuda(EventHandle event) { return reinterpret_cast<cudaEvent_t>(event); }
cudaGraphExec_t ToCuda(GraphHandle graph) { return reinterpret_cast<cudaGraphExec_t>(graph); }

template <typename Handle, typename Pointer>
Handle ToHandle(Pointer pointer) {
  return static_cast<Handle>(reinterpret_cast<std::uintptr_t>(pointer));
}

class CudaDriver final : public Driver {
 public:
  CudaDriver(const DeviceInfo& info, std::uint64_t memory_limit_bytes)
      : info_(info),
        kept_bytes_(KeptBytes(info, memory_limit_bytes)),
        gemm_workspace_bytes_(Cublas::WorkspaceBytes(info.compute_capability_major)) {}

  ~CudaDriver() override {
    if (!MakeCurrent().ok()) return;
    const RelaxedCapture relaxed;
    if (pool_ != nullptr) (void)cudaMemPoolDestroy(pool_);
    // The libraries' destructors, which follow, are for this card as well.
  }

  DriverStatus Init() override {
    if (info_.compute_capability_major == 0) {
      // When it was looked at, which its name tells (cards.cc).
      return {.code = DriverCode::kFailed, .call = "cudaGetDeviceProperties", .detail = info_.name};
    }
    if (info_.compute_capability_major < kMinMajor) {
      return {.code = DriverCode::kUnsupported,
              .call = "cudaSetDevice",
              .detail = fmt::format(
                  "the card's compute capability is {}.{}, and this plugin needs {}.0",
                  info_.compute_capability_major, info_.compute_capability_minor, kMinMajor)};
    }
    // Makes the primary context.
    return OnCard([&]() -> DriverStatus {
      if (pool_ != nullptr) return {};
      if (DriverStatus status = virtual_memory_.Open(info_.ordinal); !status.ok()) return status;
      DriverStatus prepared = ToDriverStatus("cub::PtxVersion", PrepareReductions());
      if (!prepared.ok()) return prepared;
      return MakePool();
    });
  }

  const DeviceInfo& info() const override { return info_; }

  DriverResult<CardMemory> Memory() override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    std::uint64_t pool_bytes = 0;
    DriverStatus status =
        Call("cudaMemGetInfo", [&] { return cudaMemGetInfo(&free_bytes, &total_bytes); });
    if (!status.ok()) return {.status = std::move(status)};
    status = Call("cudaMemPoolGetAttribute", [&] {
      return cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &pool_bytes);
    });
    return {
        .status = std::move(status),
        .value = {.total_bytes = total_bytes, .free_bytes = free_bytes, .pool_bytes = pool_bytes}};
  }

  DriverResult<std::byte*> Allocate(StreamHandle stream, std::uint64_t bytes) override {
    void* data = nullptr;
    DriverStatus status = Call("cudaMallocFromPoolAsync", [&] {
      return cudaMallocFromPoolAsync(&data, bytes, pool_, ToCuda(stream));
    });
    return {.status = std::move(status), .value = static_cast<std::byte*>(data)};
  }

  DriverStatus Free(StreamHandle stream, std::byte* data) override {
    return Call("cudaFreeAsync", [&] { return cudaFreeAsync(data, ToCuda(stream)); });
  }

  DriverStatus TrimPool() override {
    return Call("cudaMemPoolTrimTo", [this] { return cudaMemPoolTrimTo(pool_, 0); });
  }

  DriverResult<std::byte*> AllocateHost(std::uint64_t bytes) override {
    void* data = nullptr;
    DriverStatus status =
        Call("cudaHostAlloc", [&] { return cudaHostAlloc(&data, bytes, cudaHostAllocPortable); });
    return {.status = std::move(status), .value = static_cast<std::byte*>(data)};
  }

  DriverStatus FreeHost(std::byte* data) override {
    return Call("cudaFreeHost", [&] { return cudaFreeHost(data); });
  }

  DriverStatus RegisterHost(std::byte* data, std::uint64_t bytes) override {
    return Call("cudaHostRegister",
                [&] { return cudaHostRegister(data, bytes, cudaHostRegisterPortable); });
  }

  DriverStatus UnregisterHost(std::byte* data) override {
    return Call("cudaHostUnregister", [&] { return cudaHostUnregister(data); });
  }

  std::uint64_t ShareableGranularity() const override { return virtual_memory_.granularity(); }

  DriverResult<MemoryHandle> CreateMemory(std::uint64_t bytes) override {
    return OnCard([&] { return virtual_memory_.CreateMemory(bytes); });
  }

  DriverResult<UniqueFd> ExportMemory(MemoryHandle memory) override {
    return OnCard([&] { return virtual_memory_.ExportMemory(memory); });
  }

  DriverResult<MemoryHandle> ImportMemory(int descriptor) override {
    return OnCard([&] { return virtual_memory_.ImportMemory(descriptor); });
  }

  DriverStatus ReleaseMemory(MemoryHandle memory) override {
    return OnCard([&] { return virtual_memory_.ReleaseMemory(memory); });
  }

  DriverResult<std::byte*> ReserveAddresses(std::uint64_t bytes) override {
    return OnCard([&] { return virtual_memory_.ReserveAddresses(bytes); });
  }

  DriverStatus FreeAddresses(std::byte* address, std::uint64_t bytes) override {
    return OnCard([&] { return virtual_memory_.FreeAddresses(address, bytes); });
  }

  DriverStatus MapMemory(std::byte* address, std::uint64_t bytes, MemoryHandle memory) override {
    return OnCard([&] { return virtual_memory_.MapMemory(address, bytes, memory); });
  }

  DriverStatus SetAccess(std::byte* address, std::uint64_t bytes) override {
    return OnCard([&] { return virtual_memory_.SetAccess(address, bytes); });
  }

  DriverStatus UnmapMemory(std::byte* address, std::uint64_t bytes) override {
    return OnCard([&] {
      // Which may wait for the device.
      device_waits_.Begin();
      DriverStatus status = virtual_memory_.UnmapMemory(address, bytes);
      device_waits_.End();
      return status;
    });
  }

  DriverResult<StreamHandle> CreateStream(int priority) override {
    int least = 0;
    int greatest = 0;
    cudaStream_t stream = nullptr;
    DriverStatus status = Call("cudaDeviceGetStreamPriorityRange",
                               [&] { return cudaDeviceGetStreamPriorityRange(&least, &greatest); });
    if (!status.ok()) return {.status = std::move(status)};
    // To CUDA less is more; 0 is in the middle, so that there is something below it.
    const int middle = (least + greatest) / 2;
    const int wanted = std::clamp(middle - std::clamp(priority, -100, 100), greatest, least);
    status = Call("cudaStreamCreateWithPriority", [&] {
      return cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, wanted);
    });
    return {.status = std::move(status), .value = ToHandle<StreamHandle>(stream)};
  }

  DriverStatus DestroyStream(StreamHandle stream) override {
    return Call("cudaStreamDestroy", [&] { return cudaStreamDestroy(ToCuda(stream)); });
  }

  DriverStatus Synchronize(StreamHandle stream) override {
    return Call("cudaStreamSynchronize", [&] { return cudaStreamSynchronize(ToCuda(stream)); });
  }

  DriverStatus SynchronizeAll() override {
    device_waits_.Begin();
    DriverStatus status = Call("cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); });
    device_waits_.End();
    return status;
  }

  DriverResult<EventHandle> CreateEvent() override {
    cudaEvent_t event = nullptr;
    DriverStatus status = Call("cudaEventCreate", [&] { return cudaEventCreate(&event); });
    return {.status = std::move(status), .value = ToHandle<EventHandle>(event)};
  }

  DriverStatus DestroyEvent(EventHandle event) override {
    return Call("cudaEventDestroy", [&] { return cudaEventDestroy(ToCuda(event)); });
  }

  DriverStatus Record(EventHandle event, StreamHandle stream) override {
    return Call("cudaEventRecord", [&] { return cudaEventRecord(ToCuda(event), ToCuda(stream)); });
  }

  DriverStatus Query(EventHandle event) override {
    return Call("cudaEventQuery", [&] { return cudaEventQuery(ToCuda(event)); });
  }

  DriverStatus Wait(StreamHandle stream, EventHandle event) override {
    return Call("cudaStreamWaitEvent",
                [&] { return cudaStreamWaitEvent(ToCuda(stream), ToCuda(event)); });
  }

  DriverResult<std::chrono::nanoseconds> Elapsed(EventHandle start, EventHandle stop) override {
    float milliseconds = 0;
    DriverStatus status = Call("cudaEventElapsedTime", [&] {
      return cudaEventElapsedTime(&milliseconds, ToCuda(start), ToCuda(stop));
    });
    const std::chrono::duration<float, std::milli> elapsed(milliseconds);
    return {.status = std::move(status),
            .value = std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed)};
  }

  DriverStatus CopyToDevice(StreamHandle stream, std::byte* target, const std::byte* source,
                            std::uint64_t bytes) override {
    return Copy(stream, target, source, bytes, cudaMemcpyHostToDevice);
  }

  DriverStatus CopyToHost(StreamHandle stream, std::byte* target, const std::byte* source,
                          std::uint64_t bytes) override {
    return Copy(stream, target, source, bytes, cudaMemcpyDeviceToHost);
  }

  DriverStatus CopyOnDevice(StreamHandle stream, std::byte* target, const std::byte* source,
                            std::uint64_t bytes) override {
    return Copy(stream, target, source, bytes, cudaMemcpyDeviceToDevice);
  }

  DriverStatus Memset(StreamHandle stream, std::byte* target, std::uint8_t value,
                      std::uint64_t bytes) override {
    return Call("cudaMemsetAsync",
                [&] { return cudaMemsetAsync(target, value, bytes, ToCuda(stream)); });
  }

  DriverStatus Launch(StreamHandle stream, const Kernel& kernel) override {
    return Call("cudaLaunchKernel", [&] { return LaunchKernel(kernel, ToCuda(stream)); });
  }

  DriverStatus Reduce(StreamHandle stream, const ReductionCall& call) override {
    return Call("cub::DeviceSegmentedReduce::Reduce",
                [&] { return ReduceRows(call, ToCuda(stream)); });
  }

  std::uint64_t GemmWorkspaceBytes() const override { return gemm_workspace_bytes_; }

  DriverStatus Gemm(StreamHandle stream, const GemmCall& call) override {
    return OnCard([&] {
      const DriverResult<StreamUse> use = UseOf(stream);
      if (!use.ok()) return use.status;
      return cublas_.Gemm(ToCuda(stream), use.value, call, gemm_workspace_bytes_);
    });
  }

  DriverResult<ConvolutionPlan> PlanConvolution(const ConvolutionKey& key) override {
    return OnCard([&] { return cudnn_.PlanConvolution(key); });
  }

  DriverStatus DestroyConvolution(ConvolutionHandle plan) override {
    DriverStatus status = MakeCurrent();
    cudnn_.DestroyConvolution(plan);
    return status;
  }

  DriverStatus RunConvolution(StreamHandle stream, ConvolutionHandle plan,
                              const ConvolutionCall& call) override {
    return OnCard([&] {
      const DriverResult<StreamUse> use = UseOf(stream);
      if (!use.ok()) return use.status;
      return cudnn_.RunConvolution(ToCuda(stream), use.value, plan, call);
    });
  }

  DriverStatus BeginCapture(StreamHandle stream) override {
    DriverStatus prepared = OnCard([&] {
      DriverStatus status = cublas_.PrepareCapture();
      return status.ok() ? cudnn_.PrepareCapture() : status;
    });
    if (!prepared.ok()) return prepared;
    captures_.Begin();
    DriverStatus status = Call("cudaStreamBeginCapture", [&] {
      // Relaxed: what a library or a kernel does when it is first used, such as to load its code,
      // is allowed meanwhile, and is no part of the graph.
      return cudaStreamBeginCapture(ToCuda(stream), cudaStreamCaptureModeRelaxed);
    });
    if (!status.ok()) captures_.End();
    return status;
  }

  DriverResult<GraphHandle> EndCapture(StreamHandle stream) override {
    cudaGraph_t graph = nullptr;
    DriverStatus status =
        Call("cudaStreamEndCapture", [&] { return cudaStreamEndCapture(ToCuda(stream), &graph); });
    captures_.End();
    if (!status.ok()) return {.status = std::move(status)};
    cudaGraphExec_t executable = nullptr;
    status =
        Call("cudaGraphInstantiate", [&] { return cudaGraphInstantiate(&executable, graph, 0); });
    (void)cudaGraphDestroy(graph);
    return {.status = std::move(status), .value = ToHandle<GraphHandle>(executable)};
  }

  DriverStatus LaunchGraph(StreamHandle stream, GraphHandle graph) override {
    return Call("cudaGraphLaunch", [&] { return cudaGraphLaunch(ToCuda(graph), ToCuda(stream)); });
  }

  DriverStatus DestroyGraph(GraphHandle graph) override {
    return Call("cudaGraphExecDestroy", [&] { return cudaGraphExecDestroy(ToCuda(graph)); });
  }

 private:
  // The card becomes this thread's, which may have used another in between.
  DriverStatus MakeCurrent() {
    return ToDriverStatus("cudaSetDevice", cudaSetDevice(info_.ordinal));
  }

  // What `function` returns, a DriverStatus or a DriverResult, which makes calls for this card.
  template <typename Function>
  auto OnCard(Function&& function) -> decltype(function()) {
    if (DriverStatus status = MakeCurrent(); !status.ok()) return {std::move(status)};
    const RelaxedCapture relaxed;
    return function();
  }

  // Calls CUDA's function `name` for this card.
  template <typename Function>
  DriverStatus Call(const char* name, Function&& function) {
    return OnCard([&] { return ToDriverStatus(name, function()); });
  }

  static DriverResult<StreamUse> UseOf(StreamHandle stream) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    DriverStatus status =
        ToDriverStatus("cudaStreamIsCapturing", cudaStreamIsCapturing(ToCuda(stream), &capture));
    return {
        .status = std::move(status),
        .value = capture == cudaStreamCaptureStatusNone ? StreamUse::kRun : StreamUse::kCapture};
  }

  DriverStatus Copy(StreamHandle stream, std::byte* target, const std::byte* source,
                    std::uint64_t bytes, cudaMemcpyKind kind) {
    return Call("cudaMemcpyAsync",
                [&] { return cudaMemcpyAsync(target, source, bytes, kind, ToCuda(stream)); });
  }

  DriverStatus MakePool() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = info_.ordinal;
    cudaMemPool_t pool = nullptr;
    DriverStatus status =
        ToDriverStatus("cudaMemPoolCreate", cudaMemPoolCreate(&pool, &properties));
    if (!status.ok()) return status;
    std::uint64_t kept_bytes = kept_bytes_;
    status =
        ToDriverStatus("cudaMemPoolSetAttribute",
                       cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept_bytes));
    if (status.ok()) {
      pool_ = pool;
    } else {
      (void)cudaMemPoolDestroy(pool);
    }
    return status;
  }

  const DeviceInfo info_;
  const std::uint64_t kept_bytes_;
  const std::uint64_t gemm_workspace_bytes_;
  VirtualMemory virtual_memory_;
  cudaMemPool_t pool_ = nullptr;
  // While a stream captures, CUDA does not let the whole device be waited for, and the attempt ends
  // the capture.
  Exclusion& exclusion_ = ExclusionOf(info_.ordinal);
  Exclusion::Side captures_{exclusion_, 0};
  Exclusion::Side device_waits_{exclusion_, 1};
  Cublas cublas_;
  Cudnn cudnn_;
};

}  // namespace

std::unique_ptr<Driver> MakeCudaDriver(const DeviceInfo& info, std::uint64_t memory_limit_bytes) {
  return std::make_unique<CudaDriver>(info, memory_limit_bytes);
}

std::uint64_t KeptBytes(const DeviceInfo& info, std::uint64_t memory_limit_bytes) {
  const std::uint64_t total_bytes = info.total_memory_bytes;
  return (memory_limit_bytes == 0 ? total_bytes : std::min(total_bytes, memory_limit_bytes)) /
         kKeptPart;
}

}  // namespace acceld::cuda
