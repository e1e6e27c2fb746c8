// Attention in tasks: a block of queries of one head each (attention_block.h). Where that makes too
// few for the threads, as when one query is decoded against a long context, a task has only a part
// of the keys, and the parts are merged.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/core/status.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/ops/attention_block.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/parallel.h"
#include "backends/memory/alignment.h"

namespace acceld::cpu {
namespace {

// So many tasks a thread, where keys are split, keep the last ones from waiting for long.
constexpr std::int64_t kTasksPerThread = 4;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t BlocksOfHead(const ops::Attention& op) { return CeilDivide(op.seq_q, kQueryBlock); }

QueryBlock BlockAt(const ops::Attention& op, std::int64_t i) {
  const std::int64_t first = i % BlocksOfHead(op) * kQueryBlock;
  return {.head = i / BlocksOfHead(op),
          .first = first,
          .count = std::min(kQueryBlock, op.seq_q - first)};
}

float* OutputOf(const ops::Attention& op, const QueryBlock& block) {
  return Pointer<float>(op.output) + (block.head * op.seq_q + block.first) * op.head_dim;
}

// Calls run(lane, task) for `tasks` tasks, each lane in one thread, up to its first error. Causal
// tasks grow, so every other round of the lanes goes the other way.
template <typename RunTask>
absl::Status ForEachTask(std::int64_t lanes, std::int64_t tasks, const RunTask& run) {
  return TryParallelFor(static_cast<int>(lanes), lanes, /*grain=*/1,
                        [&](std::int64_t begin, std::int64_t end) {
                          // With one lane this thread may still have many for a product.
                          const ScopedOpenMpThreads one_thread(1);
                          for (std::int64_t lane = begin; lane < end; ++lane) {
                            for (std::int64_t round = 0; round * lanes < tasks; ++round) {
                              const std::int64_t turn = round % 2 == 0 ? lane : lanes - 1 - lane;
                              if (round * lanes + turn < tasks)
                                ACCELD_RETURN_IF_ERROR(run(lane, round * lanes + turn));
                            }
                          }
                          return absl::OkStatus();
                        });
}

// In how many parts the keys of each block are taken in: so few that the scores of the threads and
// the parts' outputs fit into the workspace that the device keeps, so that nothing fails for their
// sake.
std::int64_t PartsOf(const ops::Attention& op, std::int64_t blocks, const CpuContext& context) {
  const std::int64_t threads = context.threads();
  if (threads == 1 || blocks >= kTasksPerThread * threads) return 1;
  const std::int64_t outputs = blocks * std::min(kQueryBlock, op.seq_q) * op.head_dim;
  const auto left = static_cast<std::int64_t>(context.kept_bytes_left() / sizeof(float));
  // Where they are aligned, there is a gap between the two.
  const auto fits = [&](std::int64_t parts) {
    return std::min(threads, blocks * parts) * ScoreCount(op) + parts * outputs <=
           left - std::int64_t{kMemoryAlignment / sizeof(float)};
  };
  std::int64_t parts =
      std::min(CeilDivide(kTasksPerThread * threads, blocks), op.seq_kv / kKeyBlock);
  while (parts > 1 && !fits(parts)) --parts;
  return std::max<std::int64_t>(1, parts);
}

// How many keys some query of the block sees.
std::int64_t KeysOf(const ops::Attention& op, const QueryBlock& block) {
  return VisibleKeys(op, block.first + block.count - 1);
}

absl::Status RunInParts(const ops::Attention& op, std::int64_t blocks, std::int64_t parts,
                        std::int64_t lanes, float* scores, CpuContext& context) {
  const std::int64_t queries = std::min(kQueryBlock, op.seq_q);
  const std::int64_t tasks = blocks * parts;
  ACCELD_ASSIGN_OR_RETURN(float* const outputs,
                          context.Elements<float>(tasks * queries * op.head_dim));
  std::vector<float> largest(static_cast<std::size_t>(tasks * queries));
  std::vector<double> sums(largest.size());
  std::vector<PartialAttention> results;
  for (std::int64_t task = 0; task < tasks; ++task) {
    results.push_back({&largest[static_cast<std::size_t>(task * queries)],
                       &sums[static_cast<std::size_t>(task * queries)],
                       outputs + task * queries * op.head_dim});
  }
  ACCELD_RETURN_IF_ERROR(ForEachTask(lanes, tasks, [&](std::int64_t lane, std::int64_t task) {
    const QueryBlock block = BlockAt(op, task / parts);
    const std::int64_t part = task % parts;
    const std::int64_t keys = KeysOf(op, block);
    return Attend(op, block, keys * part / parts, keys * (part + 1) / parts,
                  scores + lane * ScoreCount(op), results[static_cast<std::size_t>(task)]);
  }));
  return ForEachTask(std::min(lanes, blocks), blocks, [&](std::int64_t, std::int64_t task) {
    const QueryBlock block = BlockAt(op, task);
    Merge(op, block, &results[static_cast<std::size_t>(task * parts)], parts, OutputOf(op, block));
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status Run(const ops::Attention& op, CpuContext& context) {
  const std::int64_t blocks = op.batch * op.heads * BlocksOfHead(op);
  const std::int64_t parts = PartsOf(op, blocks, context);
  const std::int64_t lanes = std::min<std::int64_t>(context.threads(), blocks * parts);
  ACCELD_ASSIGN_OR_RETURN(float* const scores, context.Elements<float>(lanes * ScoreCount(op)));
  if (parts > 1) return RunInParts(op, blocks, parts, lanes, scores, context);

  return ForEachTask(lanes, blocks, [&](std::int64_t lane, std::int64_t task) {
    const QueryBlock block = BlockAt(op, task);
    float largest[kQueryBlock];
    double sums[kQueryBlock];
    const PartialAttention whole{largest, sums, OutputOf(op, block)};
    ACCELD_RETURN_IF_ERROR(
        Attend(op, block, 0, KeysOf(op, block), scores + lane * ScoreCount(op), whole));
    Finish(op, block, whole);
    return absl::OkStatus();
  });
}

}  // namespace acceld::cpu
