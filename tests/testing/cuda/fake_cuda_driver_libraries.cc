// The libraries and graphs of the fake card.
#include <array>
#include <utility>

#include "fmt/format.h"
#include "tests/testing/cuda/fake_cuda_driver.h"
#include "tests/testing/cuda/fake_cuda_libraries.h"

namespace acceld {
namespace {

using cuda::ConvolutionHandle;
using cuda::DriverResult;
using cuda::DriverStatus;
using cuda::GraphHandle;
using cuda::StreamHandle;

constexpr std::uint64_t kConvolutionWorkspaceBytes = 1024;

}  // namespace

DriverStatus FakeCudaDriver::Reduce(StreamHandle stream, const cuda::ReductionCall& call) {
  const auto operand = [](const void* data, std::int64_t elements, bool writes) {
    return Operand{.data = data,
                   .bytes = static_cast<std::uint64_t>(elements) * sizeof(float),
                   .on_host = false,
                   .writes = writes};
  };
  if (call.rows == 0 || call.length == 0) Misuse("Reduce names nothing to fold.");
  return Submit(
      "Reduce", stream,
      {operand(call.input, call.rows * call.length, /*writes=*/false),
       operand(call.output, call.rows, /*writes=*/true),
       {.data = call.workspace, .bytes = call.workspace_bytes(), .on_host = false, .writes = true}},
      [call] { FakeReduction(call); });
}

DriverStatus FakeCudaDriver::Gemm(StreamHandle stream, const cuda::GemmCall& call) {
  if (!options_.no_cublas.ok()) return options_.no_cublas;
  const bool halves = call.type == cuda::GemmType::kF16 || call.type == cuda::GemmType::kBf16;
  const std::uint64_t c_bytes = call.type == cuda::GemmType::kF64 ? 8 : 4;
  const std::uint64_t factor_bytes = halves ? 2 : c_bytes;
  const auto bytes = [&call](bool transposed, std::int64_t rows, std::int64_t columns,
                             std::int64_t ld, std::int64_t stride, std::uint64_t element) {
    return element * MatrixElements(transposed ? columns : rows, transposed ? rows : columns, ld,
                                    stride, call.batch);
  };
  return Submit(
      "Gemm", stream,
      {{.data = call.a,
        .bytes = bytes(call.transpose_a, call.m, call.k, call.lda, call.stride_a, factor_bytes),
        .on_host = false,
        .writes = false},
       {.data = call.b,
        .bytes = bytes(call.transpose_b, call.k, call.n, call.ldb, call.stride_b, factor_bytes),
        .on_host = false,
        .writes = false},
       {.data = call.c,
        .bytes = bytes(false, call.m, call.n, call.ldc, call.stride_c, c_bytes),
        .on_host = false,
        .writes = true},
       {.data = call.workspace, .bytes = GemmWorkspaceBytes(), .on_host = false, .writes = true}},
      [call] { FakeGemm(call); });
}

DriverResult<cuda::ConvolutionPlan> FakeCudaDriver::PlanConvolution(
    const cuda::ConvolutionKey& key) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("PlanConvolution"); !status.ok()) return {.status = status};
  if (!options_.no_cudnn.ok()) return {.status = options_.no_cudnn};
  const ConvolutionHandle plan{++last_handle_};
  plans_.emplace(plan, key);
  return {.value = {.handle = plan, .workspace_bytes = kConvolutionWorkspaceBytes}};
}

DriverStatus FakeCudaDriver::DestroyConvolution(ConvolutionHandle plan) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("DestroyConvolution");
  if (plans_.erase(plan) == 0) Misuse("DestroyConvolution names a plan that is not there.");
  return status;
}

DriverStatus FakeCudaDriver::RunConvolution(StreamHandle stream, ConvolutionHandle plan,
                                            const cuda::ConvolutionCall& call) {
  cuda::ConvolutionKey key;
  {
    MutexLock lock(mutex_);
    const auto found = plans_.find(plan);
    if (found != plans_.end()) {
      key = found->second;
    } else {
      Misuse("RunConvolution names a plan that is not there.");
    }
  }
  for (const void* const data : {call.input, call.filter, call.output}) {
    if (reinterpret_cast<std::uintptr_t>(data) % cuda::kConvolutionAlignment == 0) continue;
    Misuse("RunConvolution names an array that is not aligned.");
  }
  const auto operand = [&key](const void* data, const std::array<std::int64_t, 4>& sizes,
                              cuda::ConvolutionKind written_by) {
    return Operand{.data = data,
                   .bytes = static_cast<std::uint64_t>(ElementCount(sizes)) * sizeof(float),
                   .on_host = false,
                   .writes = key.kind == written_by};
  };
  return Submit("RunConvolution", stream,
                {operand(call.input, key.shape.input, cuda::ConvolutionKind::kBackwardData),
                 operand(call.filter, key.shape.filter, cuda::ConvolutionKind::kBackwardFilter),
                 operand(call.output, key.shape.output, cuda::ConvolutionKind::kForward),
                 {.data = call.workspace,
                  .bytes = kConvolutionWorkspaceBytes,
                  .on_host = false,
                  .writes = true}},
                [this, plan, key, call]() ACCELD_REQUIRES(mutex_) {
                  if (!plans_.contains(plan)) {
                    Misuse("DestroyConvolution comes before a run of the plan is done.");
                  }
                  FakeConvolution(key, call);
                });
}

// ---- Graphs ----

DriverStatus FakeCudaDriver::BeginCapture(StreamHandle stream) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("BeginCapture"); !status.ok()) return status;
  StreamState* const state = Find(stream, "BeginCapture");
  if (state == nullptr) return {};
  if (std::exchange(state->capturing, true)) Misuse("BeginCapture comes twice for a stream.");
  return {};
}

DriverResult<GraphHandle> FakeCudaDriver::EndCapture(StreamHandle stream) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("EndCapture");
  StreamState* const state = Find(stream, "EndCapture");
  if (state == nullptr) return {.status = status};
  if (!std::exchange(state->capturing, false)) Misuse("EndCapture comes without BeginCapture.");
  std::vector<CapturedWork> work = std::exchange(state->captured, {});
  if (!status.ok()) return {.status = status};
  const GraphHandle graph{++last_handle_};
  graphs_.emplace(graph, Graph{.work = std::move(work), .launched = {}});
  return {.value = graph};
}

DriverStatus FakeCudaDriver::LaunchGraph(StreamHandle stream, GraphHandle graph) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("LaunchGraph"); !status.ok()) return status;
  StreamState* const state = Find(stream, "LaunchGraph");
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) Misuse("LaunchGraph names a graph that is not there.");
  if (state == nullptr || found == graphs_.end()) return {};
  auto& [work, launched] = found->second;
  Append(*state, stream, {.run = [this, launched = launched]() ACCELD_REQUIRES(mutex_) {
    RunUpTo(launched.stream, launched.position);
  }});
  Merge(state->clock, launched.clock);
  for (const CapturedWork& each : work) Submit(stream, *state, each);
  launched = {.stream = stream, .position = state->submitted, .clock = state->clock};
  return {};
}

DriverStatus FakeCudaDriver::DestroyGraph(GraphHandle graph) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("DestroyGraph");
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) {
    Misuse("DestroyGraph names a graph that is not there.");
    return status;
  }
  const Mark& launched = found->second.launched;
  const auto seen = seen_.find(launched.stream);
  if (!lost_ && launched.position > (seen == seen_.end() ? 0 : seen->second)) {
    Misuse("DestroyGraph comes before the host has seen its last launch done.");
  }
  graphs_.erase(found);
  return status;
}

}  // namespace acceld
