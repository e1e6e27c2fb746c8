// Attention of a block of queries of one head, block of keys by block of keys, with an online
// softmax (Milakov and Gimelshein, 2018; Dao et al., 2022): no [seq_q, seq_kv] array is ever there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "backends/ops/attention.h"

namespace acceld::cpu {

// How many queries a block has at most, and how many keys it takes in at once. Their scores, 256
// KiB, fit into a core's second cache; smaller blocks give the matrix products less to do a call.
inline constexpr std::int64_t kQueryBlock = 128;
inline constexpr std::int64_t kKeyBlock = 512;

// How many floats the scores of a block take.
std::int64_t ScoreCount(const ops::Attention& op);

// How many keys, from the first on, query `i` of a head sees.
inline std::int64_t VisibleKeys(const ops::Attention& op, std::int64_t i) {
  if (!op.causal) return op.seq_kv;
  return std::clamp<std::int64_t>(i + op.seq_kv - op.seq_q + 1, 0, op.seq_kv);
}

struct QueryBlock {
  std::int64_t head;  // of all batches
  std::int64_t first;
  std::int64_t count;  // at most kQueryBlock
};

// What a block of queries has of some of its keys.
struct PartialAttention {
  // Of each query the largest score, before it is scaled; minus infinity where it saw no key.
  float* largest;
  // Of each query the sum of its weights, e^(scale (score - largest)).
  double* sums;
  // [count, head_dim]: the values times their weights.
  float* output;
};

// Computes it for the keys [first_key, last_key). `scores` has room for ScoreCount(op). Out of
// memory where a product is.
absl::Status Attend(const ops::Attention& op, const QueryBlock& block, std::int64_t first_key,
                    std::int64_t last_key, float* scores, const PartialAttention& result);

// The output of a block of which all keys were taken in: divides it by the sums.
void Finish(const ops::Attention& op, const QueryBlock& block, const PartialAttention& result);

// The output of a block whose keys were taken in in `count` parts.
void Merge(const ops::Attention& op, const QueryBlock& block, const PartialAttention* parts,
           std::int64_t count, float* output);

}  // namespace acceld::cpu
