#include "tests/testing/cuda/fake_cuda_driver.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/kernels/run_on_host.h"
#include "fmt/format.h"

namespace acceld {
namespace {

using cuda::DriverCode;
using cuda::DriverResult;
using cuda::DriverStatus;
using cuda::EventHandle;
using cuda::StreamHandle;

constexpr std::align_val_t kAlignment{256};
// So that what is read before it is written shows.
constexpr int kGarbage = 0xa5;
constexpr std::int64_t kWorkNs = 1000;

DriverStatus Lost() {
  return {.code = DriverCode::kDeviceLost, .call = "fake", .detail = "the card was lost"};
}

DriverStatus NoMemory(const char* call) {
  return {.code = DriverCode::kOutOfMemory, .call = call, .detail = "the fake card is full"};
}

}  // namespace

FakeCudaDriver::FakeCudaDriver(FakeCudaOptions options) : options_(std::move(options)) {
  info_.kind = BackendKind::kCuda;
  info_.ordinal = options_.ordinal;
  info_.uuid = fmt::format("GPU-fake-{}", options_.ordinal);
  info_.name = "fake card";
  info_.compute_capability_major = 9;
  info_.total_memory_bytes = options_.memory_bytes;
  info_.memory_kind = MemoryKind::kDevice;
  info_.capabilities = {.fp16 = true,
                        .bf16 = true,
                        .fp8 = true,
                        .tensor_cores = true,
                        .unified_memory = false,
                        .cluster_launch = true,
                        .async_copy = true,
                        .warp_size = 32};
}

FakeCudaDriver::~FakeCudaDriver() {
  const auto check = [this](std::string_view what, std::size_t count) {
    if (count > 0) Misuse(fmt::format("{} of {} were never given back.", count, what));
  };
  check("its memory", memory_.size());
  check("its memory handles", files_.size());
  check("its reserved addresses", reservations_.size());
  check("its streams", streams_.size());
  check("its events", events_.size());
  check("its plans", plans_.size());
  check("its graphs", graphs_.size());
}

void FakeCudaDriver::FailCall(std::string_view name, int n, DriverStatus status) {
  MutexLock lock(mutex_);
  faults_[{std::string(name), calls_[std::string(name)] + n}] = std::move(status);
}

void FakeCudaDriver::LoseAt(int n) {
  MutexLock lock(mutex_);
  lose_in_ = n;
}

void FakeCudaDriver::Hold() {
  MutexLock lock(mutex_);
  held_ = true;
}

void FakeCudaDriver::Release() {
  MutexLock lock(mutex_);
  held_ = false;
}

void FakeCudaDriver::HoldCalls(std::string_view name) {
  MutexLock lock(mutex_);
  held_calls_ = name;
}

void FakeCudaDriver::ReleaseCalls() {
  MutexLock lock(mutex_);
  held_calls_.clear();
  called_.NotifyAll();
}

int FakeCudaDriver::calls(std::string_view name) const {
  MutexLock lock(mutex_);
  const auto found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

bool FakeCudaDriver::lost() const {
  MutexLock lock(mutex_);
  return lost_;
}

void FakeCudaDriver::WaitForCalls(std::string_view name, int count) {
  MutexLock lock(mutex_);
  called_.Wait(mutex_, [&]() ACCELD_REQUIRES(mutex_) {
    const auto found = calls_.find(name);
    return found != calls_.end() && found->second >= count;
  });
}

std::uint64_t FakeCudaDriver::pool_bytes() const {
  MutexLock lock(mutex_);
  return std::accumulate(kept_.begin(), kept_.end(), used_bytes_);
}

std::vector<int> FakeCudaDriver::priorities() const {
  MutexLock lock(mutex_);
  std::vector<int> priorities;
  for (const auto& [stream, state] : streams_) priorities.push_back(state.priority);
  return priorities;
}

void FakeCudaDriver::Misuse(const std::string& what) const {
  options_.on_misuse("Misuse of the cuda driver: " + what);
}

DriverStatus FakeCudaDriver::Enter(std::string_view name) {
  if (!initialized_) Misuse(fmt::format("{} comes before Init.", name));
  const int n = ++calls_[std::string(name)];
  const int total = ++calls_[""];
  called_.NotifyAll();
  called_.Wait(mutex_, [&]() ACCELD_REQUIRES(mutex_) { return held_calls_ != name; });
  for (const auto& key : {std::pair(std::string(name), n), std::pair(std::string(), total)}) {
    const auto fault = faults_.find(key);
    if (fault == faults_.end()) continue;
    // Where work is asked for, an error is the work's, whatever its code.
    const bool of_work = name == "Query" || name == "Synchronize";
    if (fault->second.code == DriverCode::kDeviceLost || of_work) lost_ = true;
    return fault->second;
  }
  return lost_ ? Lost() : DriverStatus();
}

FakeCudaDriver::StreamState* FakeCudaDriver::Find(StreamHandle stream, std::string_view name) {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return &found->second;
  Misuse(fmt::format("{} names a stream that is not there.", name));
  return nullptr;
}

std::shared_ptr<FakeCudaDriver::Mark>* FakeCudaDriver::Find(EventHandle event,
                                                            std::string_view name) {
  const auto found = events_.find(event);
  if (found != events_.end()) return &found->second;
  Misuse(fmt::format("{} names an event that is not there.", name));
  return nullptr;
}

void FakeCudaDriver::Append(StreamState& state, StreamHandle stream, Task task) {
  if (state.capturing) Misuse("A stream that captures gets what is no work for a graph.");
  Merge(state.clock, seen_);
  state.clock[stream] = ++state.submitted;
  state.tasks.push_back(std::move(task));
}

void FakeCudaDriver::CheckOperand(std::string_view name, const Operand& operand,
                                  StreamHandle stream, const StreamState& state) {
  const auto* const data = static_cast<const std::byte*>(operand.data);
  if (operand.bytes == 0) return;
  const auto after = memory_.upper_bound(data);
  const std::string_view kind = operand.on_host ? "pinned" : "device";
  if (after == memory_.begin() || std::prev(after)->second.on_host != operand.on_host ||
      operand.bytes > std::prev(after)->second.bytes ||
      data - std::prev(after)->first >
          static_cast<std::ptrdiff_t>(std::prev(after)->second.bytes - operand.bytes)) {
    Misuse(fmt::format("{} names {} bytes that are no {} memory.", name, operand.bytes, kind));
    return;
  }
  auto& [start, memory] = *std::prev(after);
  const auto begin = static_cast<std::uint64_t>(data - start);
  const std::string_view problem = memory.order.Add({.begin = begin,
                                                     .end = begin + operand.bytes,
                                                     .writes = operand.writes,
                                                     .makes = stream == memory.stream,
                                                     .stream = stream,
                                                     .time = state.clock.at(stream)},
                                                    state.clock, seen_, options_.clients_race);
  if (!problem.empty()) Misuse(fmt::format("The {} memory of {} {}.", kind, name, problem));
}

DriverStatus FakeCudaDriver::Submit(std::string_view name, StreamHandle stream,
                                    const std::vector<Operand>& operands,
                                    std::function<void()> run) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter(name); !status.ok()) return status;
  StreamState* const state = Find(stream, name);
  if (state == nullptr) return {};
  CapturedWork work{.name = std::string(name), .operands = operands, .run = std::move(run)};
  if (state->capturing) {
    state->captured.push_back(std::move(work));
  } else {
    Submit(stream, *state, work);
  }
  return {};
}

void FakeCudaDriver::Submit(StreamHandle stream, StreamState& state, const CapturedWork& work) {
  Append(state, stream, {.run = work.run, .is_work = true});
  for (const Operand& operand : work.operands) CheckOperand(work.name, operand, stream, state);
}

bool FakeCudaDriver::RunUpTo(StreamHandle stream, std::uint64_t position) {
  while (true) {
    const auto found = streams_.find(stream);
    // A stream that is gone was done.
    if (found == streams_.end() || found->second.executed >= position) return true;
    if (held_ || lost_) return false;
    Task task = std::move(found->second.tasks.front());
    if (task.is_work && lose_in_ > 0 && --lose_in_ == 0) {
      lost_ = true;
      return false;
    }
    found->second.tasks.pop_front();
    ++found->second.executed;
    if (task.is_work) now_ns_ += kWorkNs;
    task.run();
    if (lost_) return false;
  }
}

// ---- Memory ----

DriverStatus FakeCudaDriver::Init() {
  MutexLock lock(mutex_);
  initialized_ = true;
  return Enter("Init");
}

DriverResult<cuda::CardMemory> FakeCudaDriver::Memory() {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("Memory"); !status.ok()) return {.status = status};
  const std::uint64_t pool_bytes = std::accumulate(kept_.begin(), kept_.end(), used_bytes_);
  return {.value = {.total_bytes = options_.memory_bytes,
                    .free_bytes = options_.memory_bytes - HeldBytes(),
                    .pool_bytes = pool_bytes}};
}

std::uint64_t FakeCudaDriver::HeldBytes() const {
  return std::accumulate(kept_.begin(), kept_.end(), used_bytes_ + file_bytes_);
}

std::byte* FakeCudaDriver::NewMemory(std::uint64_t bytes, bool on_host) {
  auto* const data = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
  if (data == nullptr) return nullptr;
  std::memset(data, kGarbage, bytes);
  Block memory;
  memory.bytes = bytes;
  memory.on_host = on_host;
  memory.storage = std::shared_ptr<std::byte>(
      data, [](std::byte* gone) { ::operator delete(gone, kAlignment); });
  memory_.emplace(data, std::move(memory));
  return data;
}

DriverResult<std::byte*> FakeCudaDriver::Allocate(StreamHandle stream, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("Allocate"); !status.ok()) return {.status = status};
  StreamState* const state = Find(stream, "Allocate");
  if (state == nullptr) return {.status = NoMemory("Allocate")};
  if (const auto kept = kept_.find(bytes); kept != kept_.end()) {
    kept_.erase(kept);
  } else if (HeldBytes() + bytes > options_.memory_bytes) {
    return {.status = NoMemory("Allocate")};
  }
  std::byte* const data = NewMemory(bytes, /*on_host=*/false);
  if (data == nullptr) return {.status = NoMemory("Allocate")};
  used_bytes_ += bytes;
  memory_.at(data).stream = stream;
  Append(*state, stream, {.run = [] {}});
  // Whoever uses it is to be ordered behind this.
  CheckOperand("Allocate", {.data = data, .bytes = bytes, .on_host = false, .writes = true}, stream,
               *state);
  return {.value = data};
}

DriverStatus FakeCudaDriver::Free(StreamHandle stream, std::byte* data) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("Free");
  StreamState* const state = Find(stream, "Free");
  const auto found = memory_.find(data);
  if (found == memory_.end() || found->second.on_host) {
    Misuse("Free names what is no device memory.");
    return status;
  }
  auto node = memory_.extract(found);
  Block& memory = node.mapped();
  if (state == nullptr || lost_) {
    used_bytes_ -= memory.bytes;
    return status;
  }
  Append(*state, stream,
         {.run = [this, bytes = memory.bytes, storage = memory.storage]() ACCELD_REQUIRES(mutex_) {
           used_bytes_ -= bytes;
           kept_.insert(bytes);
         }});
  if (!memory.order.AllBefore(state->clock)) {
    Misuse("Free comes in a stream that is not ordered behind the memory's last use.");
  }
  return status;
}

DriverStatus FakeCudaDriver::TrimPool() {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("TrimPool"); !status.ok()) return status;
  kept_.clear();
  return {};
}

DriverResult<std::byte*> FakeCudaDriver::AllocateHost(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("AllocateHost"); !status.ok()) return {.status = status};
  if (bytes > options_.memory_bytes) return {.status = NoMemory("AllocateHost")};
  std::byte* const data = NewMemory(bytes, /*on_host=*/true);
  if (data == nullptr) return {.status = NoMemory("AllocateHost")};
  return {.value = data};
}

DriverStatus FakeCudaDriver::RegisterHost(std::byte* data, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("RegisterHost"); !status.ok()) return status;
  Block memory;
  memory.bytes = bytes;
  memory.on_host = true;
  if (!memory_.emplace(data, std::move(memory)).second) {
    Misuse("RegisterHost names memory that is pinned already.");
  }
  return {};
}

DriverStatus FakeCudaDriver::EndHostMemory(std::string_view name, std::byte* data) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter(name);
  const auto found = memory_.find(data);
  if (found == memory_.end() || !found->second.on_host) {
    Misuse(fmt::format("{} names what is no pinned memory.", name));
    return status;
  }
  if (!lost_ && !found->second.order.AllBefore(seen_)) {
    Misuse(fmt::format("{} comes before the host has seen the memory's last use done.", name));
  }
  memory_.erase(found);
  return status;
}

DriverStatus FakeCudaDriver::FreeHost(std::byte* data) { return EndHostMemory("FreeHost", data); }

DriverStatus FakeCudaDriver::UnregisterHost(std::byte* data) {
  return EndHostMemory("UnregisterHost", data);
}

// ---- Streams and events ----

DriverResult<StreamHandle> FakeCudaDriver::CreateStream(int priority) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("CreateStream"); !status.ok()) return {.status = status};
  const StreamHandle stream{++last_handle_};
  streams_[stream].priority = priority;
  return {.value = stream};
}

DriverStatus FakeCudaDriver::DestroyStream(StreamHandle stream) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("DestroyStream");
  const StreamState* const state = Find(stream, "DestroyStream");
  if (state == nullptr) return status;
  const auto is_work = [](const Task& task) { return task.is_work; };
  if (!lost_ && std::any_of(state->tasks.begin(), state->tasks.end(), is_work)) {
    Misuse("DestroyStream comes while the stream has work.");
  }
  if (!lost_) RunUpTo(stream, state->submitted);
  ForgetStream(stream);
  return status;
}

void FakeCudaDriver::ForgetStream(StreamHandle stream) {
  streams_.erase(stream);
  seen_.erase(stream);
  for (auto& [other, state] : streams_) state.clock.erase(stream);
  for (auto& [event, mark] : events_) {
    if (mark != nullptr) mark->clock.erase(stream);
  }
  for (auto& [graph, state] : graphs_) {
    state.launched.clock.erase(stream);
    if (state.launched.stream == stream) state.launched = {};
  }
  for (auto& [data, block] : memory_) block.order.Forget(stream);
}

DriverStatus FakeCudaDriver::Synchronize(StreamHandle stream) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("Synchronize"); !status.ok()) return status;
  const StreamState* const state = Find(stream, "Synchronize");
  if (state == nullptr) return {};
  if (!RunUpTo(stream, state->submitted)) return Lost();
  Merge(seen_, state->clock);
  return {};
}

// Whether all has run while the gate is closed shows elsewhere.
DriverStatus FakeCudaDriver::SynchronizeAll() {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("SynchronizeAll"); !status.ok()) return status;
  for (const auto& [stream, state] : streams_) {
    if (RunUpTo(stream, state.submitted)) Merge(seen_, state.clock);
  }
  return lost_ ? Lost() : DriverStatus();
}

DriverResult<EventHandle> FakeCudaDriver::CreateEvent() {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("CreateEvent"); !status.ok()) return {.status = status};
  const EventHandle event{++last_handle_};
  events_.emplace(event, nullptr);
  return {.value = event};
}

DriverStatus FakeCudaDriver::DestroyEvent(EventHandle event) {
  MutexLock lock(mutex_);
  DriverStatus status = Enter("DestroyEvent");
  if (Find(event, "DestroyEvent") != nullptr) events_.erase(event);
  return status;
}

DriverStatus FakeCudaDriver::Record(EventHandle event, StreamHandle stream) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("Record"); !status.ok()) return status;
  StreamState* const state = Find(stream, "Record");
  std::shared_ptr<Mark>* const latest = Find(event, "Record");
  if (state == nullptr || latest == nullptr) return {};
  auto mark = std::make_shared<Mark>();
  Append(*state, stream,
         {.run = [this, mark]() ACCELD_REQUIRES(mutex_) { mark->time_ns = now_ns_ + 1; }});
  mark->stream = stream;
  mark->position = state->submitted;
  mark->clock = state->clock;
  *latest = std::move(mark);
  return {};
}

DriverStatus FakeCudaDriver::Query(EventHandle event) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("Query"); !status.ok()) return status;
  const std::shared_ptr<Mark>* const latest = Find(event, "Query");
  if (latest == nullptr || *latest == nullptr) return {};
  const std::shared_ptr<Mark> mark = *latest;
  if (!RunUpTo(mark->stream, mark->position)) {
    return lost_ ? Lost() : DriverStatus{.code = DriverCode::kNotReady};
  }
  Merge(seen_, mark->clock);
  return {};
}

DriverStatus FakeCudaDriver::Wait(StreamHandle stream, EventHandle event) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("Wait"); !status.ok()) return status;
  StreamState* const state = Find(stream, "Wait");
  const std::shared_ptr<Mark>* const latest = Find(event, "Wait");
  if (state == nullptr || latest == nullptr || *latest == nullptr) return {};
  Append(*state, stream, {.run = [this, mark = *latest]() ACCELD_REQUIRES(mutex_) {
    RunUpTo(mark->stream, mark->position);
  }});
  Merge(state->clock, (*latest)->clock);
  return {};
}

DriverResult<std::chrono::nanoseconds> FakeCudaDriver::Elapsed(EventHandle start,
                                                               EventHandle stop) {
  MutexLock lock(mutex_);
  if (DriverStatus status = Enter("Elapsed"); !status.ok()) return {.status = status};
  const std::shared_ptr<Mark>* const from = Find(start, "Elapsed");
  const std::shared_ptr<Mark>* const to = Find(stop, "Elapsed");
  if (from == nullptr || to == nullptr || *from == nullptr || *to == nullptr ||
      (*from)->time_ns == 0 || (*to)->time_ns == 0) {
    Misuse("Elapsed names an event that is not done.");
    return {};
  }
  return {.value = std::chrono::nanoseconds((*to)->time_ns - (*from)->time_ns)};
}

// ---- Work ----

DriverStatus FakeCudaDriver::CopyToDevice(StreamHandle stream, std::byte* target,
                                          const std::byte* source, std::uint64_t bytes) {
  return Submit("CopyToDevice", stream,
                {{.data = target, .bytes = bytes, .on_host = false, .writes = true},
                 {.data = source, .bytes = bytes, .on_host = true, .writes = false}},
                [=] { std::memcpy(target, source, bytes); });
}

DriverStatus FakeCudaDriver::CopyToHost(StreamHandle stream, std::byte* target,
                                        const std::byte* source, std::uint64_t bytes) {
  return Submit("CopyToHost", stream,
                {{.data = target, .bytes = bytes, .on_host = true, .writes = true},
                 {.data = source, .bytes = bytes, .on_host = false, .writes = false}},
                [=] { std::memcpy(target, source, bytes); });
}

DriverStatus FakeCudaDriver::CopyOnDevice(StreamHandle stream, std::byte* target,
                                          const std::byte* source, std::uint64_t bytes) {
  return Submit("CopyOnDevice", stream,
                {{.data = target, .bytes = bytes, .on_host = false, .writes = true},
                 {.data = source, .bytes = bytes, .on_host = false, .writes = false}},
                [=] { std::memcpy(target, source, bytes); });
}

DriverStatus FakeCudaDriver::Memset(StreamHandle stream, std::byte* target, std::uint8_t value,
                                    std::uint64_t bytes) {
  return Submit("Memset", stream,
                {{.data = target, .bytes = bytes, .on_host = false, .writes = true}},
                [=] { std::memset(target, value, bytes); });
}

std::vector<FakeCudaDriver::Operand> FakeCudaDriver::OperandsOf(const cuda::Kernel& kernel) {
  std::vector<Operand> operands;
  std::visit(
      [&operands](const auto& typed) {
        if (typed.grid().blocks == 0) return;
        for (const auto& [data, bytes, writes] : typed.operands()) {
          operands.push_back({.data = data, .bytes = bytes, .on_host = false, .writes = writes});
        }
      },
      kernel);
  return operands;
}

DriverStatus FakeCudaDriver::Launch(StreamHandle stream, const cuda::Kernel& kernel) {
  return Submit("Launch", stream, OperandsOf(kernel), [this, kernel]() ACCELD_REQUIRES(mutex_) {
    if (options_.loses && options_.loses(kernel)) {
      lost_ = true;
    } else {
      cuda::RunOnHost(kernel);
    }
  });
}

}  // namespace acceld
