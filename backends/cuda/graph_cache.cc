#include "backends/cuda/graph_cache.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "backends/cuda/graph_context.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/pinned_pool.h"

namespace acceld::cuda {
namespace {

// Whether all of them went well.
bool RunAll(const std::vector<Op>& ops, GraphContext context) {
  return std::all_of(ops.begin(), ops.end(), [&context](const Op& op) {
    context.NextOp();
    return RunOp(op, context).ok();
  });
}

}  // namespace

Graph::~Graph() {
  if (handle != GraphHandle{}) (void)driver_.DestroyGraph(handle);
  if (data != nullptr) memory_.Release(data, bytes);
}

DriverStatus Graph::Launch(StreamHandle stream) const {
  MutexLock lock(mutex_);
  return driver_.LaunchGraph(stream, handle);
}

GraphCache::~GraphCache() {
  Clear();
  MutexLock lock(capture_mutex_);
  if (capture_stream_ != StreamHandle{}) (void)driver_.DestroyStream(capture_stream_);
}

std::shared_ptr<const Graph> GraphCache::Get(const CudaProgram& program, StreamHandle stream,
                                             OpResources& resources) {
  if (program.refused()) return nullptr;
  std::shared_ptr<const Graph> graph = Find(program);
  if (graph == nullptr) return Capture(program, stream, resources);
  resources.kept.push_back(graph);
  return graph;
}

std::shared_ptr<const Graph> GraphCache::Find(const CudaProgram& program) {
  MutexLock lock(mutex_);
  const auto found = by_program_.find(&program);
  if (found == by_program_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->graph;
}

std::shared_ptr<const Graph> GraphCache::Capture(const CudaProgram& program, StreamHandle stream,
                                                 OpResources& resources) {
  const auto graph = std::make_shared<Graph>(driver_, memory_);
  resources.kept.push_back(graph);
  GraphNeeds needs;
  MutexLock lock(capture_mutex_);
  if (RunAll(program.ops(), GraphContext(driver_, StreamHandle{}, plans_, pinned_, graph->resources,
                                         nullptr, needs)) &&
      needs.bytes() <= max_bytes_) {
    // Where it fails, there may be memory the next time.
    const bool ready = Prepare(needs, stream, *graph, resources);
    if (ready && TryCapture(program.ops(), needs, *graph)) return graph;
    // The ops one by one may need it, which come next in the stream.
    if (graph->data != nullptr) memory_.ReleaseIn(stream, graph->data, graph->bytes);
    graph->data = nullptr;
    if (!ready) return nullptr;
  }
  // Why is no matter: the ops one by one meet it, too, or are right.
  program.Refuse();
  return nullptr;
}

bool GraphCache::TryCapture(const std::vector<Op>& ops, GraphNeeds& needs, Graph& graph) {
  if (capture_stream_ == StreamHandle{}) {
    const DriverResult<StreamHandle> created = driver_.CreateStream(/*priority=*/0);
    if (!created.ok()) return false;
    capture_stream_ = created.value;
  }
  if (!driver_.BeginCapture(capture_stream_).ok()) return false;
  const bool ran = RunAll(ops, GraphContext(driver_, capture_stream_, plans_, pinned_,
                                            graph.resources, graph.data, needs));
  const DriverResult<GraphHandle> captured = driver_.EndCapture(capture_stream_);
  if (captured.ok()) graph.handle = captured.value;
  return ran && captured.ok();
}

bool GraphCache::Prepare(const GraphNeeds& needs, StreamHandle stream, Graph& graph,
                         OpResources& resources) {
  if (needs.bytes() == 0) return true;
  absl::StatusOr<std::byte*> data = memory_.AllocateIn(stream, needs.bytes());
  // The others were used before.
  if (absl::IsResourceExhausted(data.status()) && Clear()) {
    data = memory_.AllocateIn(stream, needs.bytes());
  }
  if (!data.ok()) return false;
  graph.data = *data;
  graph.bytes = needs.bytes();
  const std::uint64_t bytes = needs.uploads.size();
  if (bytes == 0) return true;
  const DriverResult<std::byte*> pinned = pinned_.Take(bytes);
  if (!pinned.ok()) return false;
  resources.pinned.push_back(pinned.value);
  std::memcpy(pinned.value, needs.uploads.data(), bytes);
  return driver_.CopyToDevice(stream, graph.data, pinned.value, bytes).ok();
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

}  // namespace acceld::cuda
