#include "backends/cuda/graph_cache.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "backends/core/status.h"
#include "backends/cuda/driver_status.h"
#include "backends/cuda/graph_context.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/pinned_pool.h"
#include "backends/cuda/pool_allocation.h"
#include "fmt/format.h"

namespace acceld::cuda {
namespace {

// Up to the first that fails.
absl::Status RunAll(const std::vector<Op>& ops, GraphContext context) {
  for (const Op& op : ops) {
    context.NextOp();
    ACCELD_RETURN_IF_ERROR(RunOp(op, context));
  }
  return absl::OkStatus();
}

}  // namespace

Graph::~Graph() {
  if (handle != GraphHandle{}) (void)driver_.DestroyGraph(handle);
  if (data != nullptr) memory_.Release(data, bytes);
}

DriverStatus Graph::Launch(StreamHandle stream) const {
  MutexLock lock(mutex_);
  return CallOrTrim(driver_, [&] { return driver_.LaunchGraph(stream, handle); });
}

GraphCache::~GraphCache() {
  Clear();
  MutexLock lock(capture_mutex_);
  if (capture_stream_ != StreamHandle{}) (void)driver_.DestroyStream(capture_stream_);
}

std::shared_ptr<const Graph> GraphCache::Get(const CudaProgram& program, StreamHandle stream,
                                             OpResources& resources) {
  if (program.refused()) return nullptr;
  std::shared_ptr<const Graph> graph = Find(program, resources);
  return graph != nullptr ? graph : Capture(program, stream, resources);
}

std::shared_ptr<const Graph> GraphCache::Find(const CudaProgram& program, OpResources& resources) {
  MutexLock lock(mutex_);
  const auto found = by_program_.find(&program);
  if (found == by_program_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  resources.kept.push_back(found->second->graph);
  return found->second->graph;
}

std::shared_ptr<const Graph> GraphCache::Capture(const CudaProgram& program, StreamHandle stream,
                                                 OpResources& resources) {
  const auto graph = std::make_shared<Graph>(driver_, memory_);
  resources.kept.push_back(graph);
  MutexLock lock(capture_mutex_);
  const absl::Status captured = TryCapture(program.ops(), stream, *graph, resources);
  if (captured.ok()) return graph;
  // The ops one by one may need its memory, which come next in the stream.
  if (graph->data != nullptr) memory_.ReleaseIn(stream, graph->data, graph->bytes);
  graph->data = nullptr;
  // An error is theirs as well, or they are right.
  program.Failed(captured);
  return nullptr;
}

absl::Status GraphCache::TryCapture(const std::vector<Op>& ops, StreamHandle stream, Graph& graph,
                                    OpResources& resources) {
  GraphNeeds needs;
  ACCELD_RETURN_IF_ERROR(RunAll(ops, GraphContext(driver_, StreamHandle{}, plans_, pinned_,
                                                  graph.resources, nullptr, needs)));
  if (needs.bytes() > max_bytes_) {
    return UnsupportedError(
        fmt::format("A graph of {} ops needs {} bytes, and {} at most are kept.", ops.size(),
                    needs.bytes(), max_bytes_));
  }
  ACCELD_RETURN_IF_ERROR(Prepare(needs, stream, graph, resources));
  const absl::Status recorded = Record(ops, needs, graph);
  if (!absl::IsResourceExhausted(recorded)) return recorded;
  if (graph.handle != GraphHandle{}) (void)driver_.DestroyGraph(graph.handle);
  graph.handle = {};
  ACCELD_RETURN_IF_ERROR(ToStatus(driver_.TrimPool(), driver_.info()));
  return Record(ops, needs, graph);
}

absl::Status GraphCache::Record(const std::vector<Op>& ops, GraphNeeds& needs, Graph& graph) {
  const auto to_status = [this](const DriverStatus& status) {
    return ToStatus(status, driver_.info());
  };
  if (capture_stream_ == StreamHandle{}) {
    const DriverResult<StreamHandle> created = driver_.CreateStream(/*priority=*/0);
    if (!created.ok()) return to_status(created.status);
    capture_stream_ = created.value;
  }
  ACCELD_RETURN_IF_ERROR(to_status(driver_.BeginCapture(capture_stream_)));
  const absl::Status ran = RunAll(ops, GraphContext(driver_, capture_stream_, plans_, pinned_,
                                                    graph.resources, graph.data, needs));
  const DriverResult<GraphHandle> recorded = driver_.EndCapture(capture_stream_);
  if (recorded.ok()) graph.handle = recorded.value;
  return ran.ok() ? to_status(recorded.status) : ran;
}

absl::Status GraphCache::Prepare(const GraphNeeds& needs, StreamHandle stream, Graph& graph,
                                 OpResources& resources) {
  if (needs.bytes() == 0) return absl::OkStatus();
  absl::StatusOr<std::byte*> data = memory_.AllocateIn(stream, needs.bytes());
  // The others were used before.
  if (absl::IsResourceExhausted(data.status()) && Clear()) {
    data = memory_.AllocateIn(stream, needs.bytes());
  }
  ACCELD_RETURN_IF_ERROR(data.status());
  graph.data = *data;
  graph.bytes = needs.bytes();
  const std::uint64_t bytes = needs.uploads.size();
  if (bytes == 0) return absl::OkStatus();
  const DriverResult<std::byte*> pinned = pinned_.Take(bytes);
  if (!pinned.ok()) return ToStatus(pinned.status, driver_.info());
  resources.pinned.push_back(pinned.value);
  std::memcpy(pinned.value, needs.uploads.data(), bytes);
  return ToStatus(driver_.CopyToDevice(stream, graph.data, pinned.value, bytes), driver_.info());
}

void GraphCache::Keep(const CudaProgram& program, std::shared_ptr<const Graph> graph) {
  std::list<Entry> evicted;  // Destroyed without the lock.
  MutexLock lock(mutex_);
  // Another queue may have captured the program meanwhile.
  if (by_program_.contains(&program)) return;
  bytes_ += graph->bytes;
  entries_.push_front({.program = &program, .graph = std::move(graph)});
  by_program_.emplace(&program, entries_.begin());
  while (entries_.size() > max_graphs_ || bytes_ > max_bytes_) {
    bytes_ -= entries_.back().graph->bytes;
    by_program_.erase(entries_.back().program);
    evicted.splice(evicted.end(), entries_, std::prev(entries_.end()));
  }
}

void GraphCache::Forget(const CudaProgram& program) {
  std::list<Entry> forgotten;  // Destroyed without the lock.
  MutexLock lock(mutex_);
  const auto found = by_program_.find(&program);
  if (found == by_program_.end()) return;
  bytes_ -= found->second->graph->bytes;
  forgotten.splice(forgotten.end(), entries_, found->second);
  by_program_.erase(found);
}

bool GraphCache::Clear() {
  std::list<Entry> cleared;  // Destroyed without the lock.
  MutexLock lock(mutex_);
  std::swap(cleared, entries_);
  by_program_.clear();
  bytes_ = 0;
  return !cleared.empty();
}

void CudaProgram::Failed(const absl::Status& why) const {
  MutexLock lock(mutex_);
  why_not_captured_ = why;
  if (!absl::IsResourceExhausted(why)) ++failures_;
}

absl::Status CudaProgram::why_not_captured() const {
  MutexLock lock(mutex_);
  return why_not_captured_;
}

}  // namespace acceld::cuda
