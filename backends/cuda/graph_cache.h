// The graphs of programs: to launch one takes as long as to launch one or two kernels.
//
// A program's first run captures its ops, each later one launches the graph. The graph goes with
// its program, or when others were used since, and is captured anew then. It names the memory that
// its program names, which may be gone before: nobody runs the program any more then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "backends/core/mutex.h"
#include "backends/cuda/context.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/graph_context.h"
#include "backends/device.h"

namespace acceld::cuda {

// A graph and what its launches use. Whoever launches it keeps it until the launch is done; it is
// destroyed with the last one. Belongs to no stream.
class Graph {
 public:
  Graph(Driver& driver, DeviceMemory& memory) : driver_(driver), memory_(memory) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Thread-safe.
  DriverStatus Launch(StreamHandle stream) const;

  GraphHandle handle{};
  // The graph's own device memory; null where it needs none.
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  // Its convolutions' plans.
  OpResources resources{};

 private:
  Driver& driver_;
  DeviceMemory& memory_;
  // Of launches, which the driver wants one by one.
  mutable Mutex mutex_;
};

class CudaProgram;

// Thread-safe.
class GraphCache {
 public:
  // Of all programs of the device.
  static constexpr std::size_t kMaxGraphs = 128;
  // The device memory that they keep, in all. What needs more is not captured.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

  // All outlive the cache, and the cache its graphs and programs.
  GraphCache(Driver& driver, DeviceMemory& memory, PlanCache& plans, PinnedPool& pinned,
             std::size_t max_graphs = kMaxGraphs, std::uint64_t max_bytes = kMaxBytes)
      : driver_(driver),
        memory_(memory),
        plans_(plans),
        pinned_(pinned),
        max_graphs_(max_graphs),
        max_bytes_(max_bytes) {}
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  // The graph of `program`, null where none is kept. `resources`, the launch's, keeps it.
  std::shared_ptr<const Graph> Find(const CudaProgram& program, OpResources& resources);
  // The same, captured where none is kept, for a launch in `stream`, which may get work by this
  // that it needs. Null where there can be none: its ops are to be submitted one by one.
  std::shared_ptr<const Graph> Get(const CudaProgram& program, StreamHandle stream,
                                   OpResources& resources);
  // Keeps a graph for the next time. It was launched where Get had got it ready: launches of one
  // graph follow one another, so that they all have its memory ready.
  void Keep(const CudaProgram& program, std::shared_ptr<const Graph> graph);

  // The program ends.
  void Forget(const CudaProgram& program);
  // Lets all graphs go, for their memory. False where there is none.
  bool Clear();

 private:
  struct Entry {
    const CudaProgram* program;
    std::shared_ptr<const Graph> graph;
  };

  std::shared_ptr<const Graph> Capture(const CudaProgram& program, StreamHandle stream,
                                       OpResources& resources);
  // Captures `ops` for a launch in `stream`. An error leaves `graph` with nothing of use.
  absl::Status TryCapture(const std::vector<Op>& ops, StreamHandle stream, Graph& graph,
                          OpResources& resources) ACCELD_REQUIRES(capture_mutex_);
  // Gives `graph` its memory, for which the others go where it takes that, with what its ops
  // upload; `resources` gets what `stream` uses for that.
  absl::Status Prepare(const GraphNeeds& needs, StreamHandle stream, Graph& graph,
                       OpResources& resources);
  // Records `ops`, for which `graph` is prepared.
  absl::Status Record(const std::vector<Op>& ops, GraphNeeds& needs, Graph& graph)
      ACCELD_REQUIRES(capture_mutex_);

  Driver& driver_;
  DeviceMemory& memory_;
  PlanCache& plans_;
  PinnedPool& pinned_;
  const std::size_t max_graphs_;
  const std::uint64_t max_bytes_;

  Mutex capture_mutex_;
  // Only captures, so that nothing else comes between.
  StreamHandle capture_stream_ ACCELD_GUARDED_BY(capture_mutex_){};

  Mutex mutex_;
  // The last used first.
  std::list<Entry> entries_ ACCELD_GUARDED_BY(mutex_);
  absl::flat_hash_map<const CudaProgram*, std::list<Entry>::iterator> by_program_
      ACCELD_GUARDED_BY(mutex_);
  // Of the graphs in `entries_`.
  std::uint64_t bytes_ ACCELD_GUARDED_BY(mutex_) = 0;
};

class CudaProgram final : public DeviceProgram {
 public:
  // `graphs` outlives it.
  CudaProgram(GraphCache& graphs, std::vector<Op> ops)
      : DeviceProgram(std::move(ops)), graphs_(graphs) {}
  ~CudaProgram() override { graphs_.Forget(*this); }

  // Whether its ops turned out to be no graph: a library does not take part, or they need too much.
  bool refused() const { return failures_ >= kMaxFailures; }
  // A capture has failed. Lack of memory may pass; what else fails may do so once, for what ran
  // beside it.
  void Failed(const absl::Status& why) const;
  // Why the last capture failed, OK where none did. Nobody is told: its ops run as well without.
  absl::Status why_not_captured() const;

 private:
  static constexpr int kMaxFailures = 2;

  GraphCache& graphs_;
  // Not for lack of memory.
  mutable std::atomic<int> failures_{0};
  mutable Mutex mutex_;
  mutable absl::Status why_not_captured_ ACCELD_GUARDED_BY(mutex_);
};

}  // namespace acceld::cuda
