// Attention with an online softmax (Milakov and Gimelshein, 2018; Dao et al., 2022): no
// [seq_q, seq_kv] array is ever there; ops::Attention. In f32 throughout, without tensor cores,
// whose TF32 would lose half the digits.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "backends/cuda/kernels/attention_merge.h"
#include "backends/cuda/kernels/attention_tiles.h"
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/extremes.h"
#include "backends/cuda/kernels/grid.h"

namespace acceld::cuda {

// A block takes kQueries queries of one head through the keys, kTile at a time: it multiplies them,
// turns the scores into weights relative to the largest score so far, and adds the weighted values
// to its outputs, which it scales down whenever the largest score has grown.
//
// Outputs are kept in registers, kDims elements of a head's head_dim; where head_dim is more,
// several blocks share the head's outputs out, and each computes the weights.
//
// Where there are few such blocks and many keys, as when a text is continued word by word, the keys
// are cut into segments, a block each, by the shape alone (Dao, Haziza, Massa and Sizov, 2023,
// "Flash-Decoding"). Each writes what it has to `partials`, and AttentionMergeKernel makes one of
// them.
//
// As a matrix product, a thread has kRows x kColumns elements of a tile: rows kThreadRows apart and
// scores kThreadColumns apart or, of outputs, vectors of four.
template <int kDims, int kQueries = kTile>
class AttentionKernel {
  static constexpr int kRows = kQueries / kThreadRows;
  using Shared = AttentionShared<kQueries>;

 public:
  static constexpr int kThreads = kAttentionThreads;
  static constexpr int kBlocksAtOnce = kQueries < kTile ? 5
                                       : kDims <= 64    ? 4
                                       : kDims <= 128   ? 3
                                                        : 2;

  struct Registers {
    float scores[kRows][kColumns];
    float output[kDims / kTile][kRows][kColumns];
  };

  AttentionKernel() = default;
  AttentionKernel(const AttentionShape& shape, const float* q, const float* k, const float* v,
                  float* output)
      : shape_(shape),
        q_(q),
        k_(k),
        v_(v),
        output_(output),
        vectors_(shape.head_dim % kVectorLength == 0 && IsAligned(q) && IsAligned(k) &&
                 IsAligned(v) && IsAligned(output)),
        query_tiles_(CeilDivide(shape.seq_q, kQueries)),
        parts_(CeilDivide(shape.head_dim, kDims)) {
    const std::int64_t most =
        Larger<std::int64_t>(1, Smaller(kEnoughBlocks / blocks(), kMaxAttentionSegments));
    segment_keys_ =
        kTile * Larger(CeilDivide(CeilDivide(shape.seq_kv, kTile), most), kMinTilesOfSegment);
    segments_ = CeilDivide(shape.seq_kv, segment_keys_);
  }

  // Where it is more than 1, set_partials is to follow.
  std::int64_t segments() const { return segments_; }
  void set_partials(const AttentionPartials& partials) { partials_ = partials; }

  Grid grid() const { return {.blocks = blocks() * segments_, .shared_bytes = sizeof(Shared)}; }
  auto operands() const {
    const std::int64_t queries = shape_.heads * shape_.seq_q * shape_.head_dim;
    const std::int64_t keys = shape_.heads * shape_.seq_kv * shape_.head_dim;
    const KernelOperand written = segments_ == 1
                                      ? Writes(output_, queries)
                                      : partials_.Operand(shape_, segments_, /*writes=*/true);
    return std::array{Reads(q_, queries), Reads(k_, keys), Reads(v_, keys), written};
  }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    Shared& shared = *block.template shared<Shared>();
    const Task task = TaskOf(block.index());
    block.Phase([&](int thread, Registers& registers) { Start(thread, registers, shared); });
    for (std::int64_t key = task.first_key; key < task.end_key; key += kTile) {
      MultiplyKeys(block, task, key, shared);
      ToWeights(block, task, key, shared);
      AddValues(block, task, key, shared);
    }
    block.Phase([&](int thread, Registers& registers) {
      if (segments_ == 1) {
        WriteOutput(task, thread, registers, shared);
      } else {
        WritePartial(task, thread, registers, shared);
      }
    });
  }

 private:
  // With this many blocks a card is busy. Those of few queries are quick, and wait for memory.
  static constexpr std::int64_t kEnoughBlocks = kQueries < kTile ? 1024 : 512;
  // To write and merge a segment then takes little beside it.
  static constexpr std::int64_t kMinTilesOfSegment = 2;

  // What a block computes.
  struct Task {
    std::int64_t head;
    std::int64_t first_query;
    // The first of its kDims output elements.
    std::int64_t first_dim;
    std::int64_t segment;
    // Of the segment's keys, those that any of the queries sees.
    std::int64_t first_key;
    std::int64_t end_key;
  };

  // Without segments.
  std::int64_t blocks() const { return shape_.heads * query_tiles_ * parts_; }

  ACCELD_HOST_DEVICE Task TaskOf(std::int64_t index) const {
    const std::int64_t block = Quotient(index, segments_);
    const std::int64_t tile = Quotient(block, parts_);
    const std::int64_t head = Quotient(tile, query_tiles_);
    // Causally the last queries see most; they begin first.
    const std::int64_t query_tile = query_tiles_ - 1 - (tile - head * query_tiles_);
    Task task{};
    task.head = head;
    task.first_query = query_tile * kQueries;
    task.first_dim = (block - tile * parts_) * kDims;
    task.segment = index - block * segments_;
    task.first_key = task.segment * segment_keys_;
    task.end_key = Smaller(task.first_key + segment_keys_,
                           shape_.VisibleKeys(task.first_query + kQueries - 1));
    return task;
  }

  ACCELD_HOST_DEVICE static void Start(int thread, Registers& registers, Shared& shared) {
    ACCELD_UNROLL
    for (auto& part : registers.output) {
      ACCELD_UNROLL
      for (auto& row : part) {
        ACCELD_UNROLL
        for (float& element : row) element = 0;
      }
    }
    if (thread >= kQueries) return;
    shared.largest[thread] = -INFINITY;
    shared.sum[thread] = 0;
  }

  // registers.scores = the dot products of the tile's queries with the keys from `key` on.
  template <typename Block>
  ACCELD_HOST_DEVICE void MultiplyKeys(Block& block, const Task& task, std::int64_t key,
                                       Shared& shared) const {
    for (std::int64_t dim = 0; dim < shape_.head_dim; dim += kTile) {
      block.Phase([&](int thread, Registers& registers) {
        LoadTile(thread, q_, task.head, task.first_query, shape_.seq_q, dim, shared.left);
        LoadTile(thread, k_, task.head, key, shape_.seq_kv, dim, shared.right);
        if (dim > 0) return;
        ACCELD_UNROLL
        for (auto& row : registers.scores) {
          ACCELD_UNROLL
          for (float& score : row) score = 0;
        }
      });
      block.Phase([&](int thread, Registers& registers) {
        const int dims = static_cast<int>(Smaller<std::int64_t>(kTile, shape_.head_dim - dim));
        MultiplyByRows(thread, dims, shared.left, shared.right, registers.scores);
      });
    }
  }

  // shared.left = the weights of the keys from `key` on, relative to the largest score so far.
  template <typename Block>
  ACCELD_HOST_DEVICE void ToWeights(Block& block, const Task& task, std::int64_t key,
                                    Shared& shared) const {
    const SeenKeys seen(shape_, task.first_query, key);
    block.Phase([&](int thread, Registers& registers) {
      ACCELD_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const int row = RowOf(thread, i);
        const int visible = seen.Of(row);
        ACCELD_UNROLL
        for (int j = 0; j < kColumns; ++j) {
          const int column = ColumnOf(thread, j);
          shared.left[row][column] =
              column < visible ? shape_.scale * registers.scores[i][j] : -INFINITY;
        }
      }
    });
    block.Phase([&](int thread, Registers&) { FindLargest(thread, shared); });
    block.Phase([&](int thread, Registers&) { Exponentiate(thread, shared); });
  }

  // registers.output += the values from `key` on, weighted.
  template <typename Block>
  ACCELD_HOST_DEVICE void AddValues(Block& block, const Task& task, std::int64_t key,
                                    Shared& shared) const {
    const SeenKeys seen(shape_, task.first_query, key);
    ACCELD_UNROLL
    for (int part = 0; part < kDims / kTile; ++part) {
      const std::int64_t dim = task.first_dim + part * kTile;
      if (dim >= shape_.head_dim) continue;
      block.Phase([&](int thread, Registers&) {
        LoadTile(thread, v_, task.head, key, shape_.seq_kv, dim, shared.right);
        if (part == 0 && thread < kQueries) TakeIn(thread, shared);
      });
      block.Phase([&](int thread, Registers& registers) {
        auto& output = registers.output[part];
        ACCELD_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const float factor = shared.factor[RowOf(thread, i)];
          ACCELD_UNROLL
          for (float& element : output[i]) element *= factor;
        }
        if (seen.AllSeeAll()) {
          MultiplyByColumns</*kMasked=*/false>(thread, seen, shared.left, shared.right, output);
        } else {
          MultiplyByColumns</*kMasked=*/true>(thread, seen, shared.left, shared.right, output);
        }
      });
    }
  }

  ACCELD_HOST_DEVICE void WriteOutput(const Task& task, int thread, const Registers& registers,
                                      const Shared& shared) const {
    ACCELD_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const int row = RowOf(thread, i);
      const std::int64_t query = task.first_query + row;
      if (query >= shape_.seq_q) continue;
      const float factor =
          shape_.VisibleKeys(query) > 0 ? static_cast<float>(1 / shared.sum[row]) : 0;
      StoreRow(task, thread, registers, i, factor,
               output_ + (task.head * shape_.seq_q + query) * shape_.head_dim);
    }
  }

  // What it has of each query, relative to the largest score of the segment.
  ACCELD_HOST_DEVICE void WritePartial(const Task& task, int thread, const Registers& registers,
                                       const Shared& shared) const {
    const std::int64_t first =
        (task.segment * shape_.heads + task.head) * shape_.seq_q + task.first_query;
    ACCELD_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const int row = RowOf(thread, i);
      if (task.first_query + row >= shape_.seq_q) continue;
      StoreRow(task, thread, registers, i, /*factor=*/1,
               partials_.outputs + (first + row) * shape_.head_dim);
    }
    if (thread < kQueries && task.first_query + thread < shape_.seq_q && task.first_dim == 0) {
      partials_.sums[first + thread] = {shared.largest[thread], shared.sum[thread]};
    }
  }

  // output = the thread's outputs in its row `i`, times `factor`.
  ACCELD_HOST_DEVICE void StoreRow(const Task& task, int thread, const Registers& registers, int i,
                                   float factor, float* output) const {
    ACCELD_UNROLL
    for (int part = 0; part < kDims / kTile; ++part) {
      Float4 v;
      ACCELD_UNROLL
      for (int e = 0; e < kColumns; ++e) v.x[e] = registers.output[part][i][e] * factor;
      StoreSome(v, output, task.first_dim + part * kTile + FirstColumnOf(thread));
    }
  }

  // Of the vector at `dim`, what lies within the row.
  ACCELD_HOST_DEVICE void StoreSome(const Float4& v, float* row, std::int64_t dim) const {
    if (vectors_) {
      if (dim < shape_.head_dim) StoreVector(row + dim, v);
      return;
    }
    ACCELD_UNROLL
    for (int e = 0; e < kVectorLength; ++e) {
      if (dim + e < shape_.head_dim) row[dim + e] = v.x[e];
    }
  }

  // tile[i][j] = element dim + j of row first + i of the head's [seq, head_dim], 0 beyond.
  template <int kTileRows>
  ACCELD_HOST_DEVICE void LoadTile(int thread, const float* array, std::int64_t head,
                                   std::int64_t first, std::int64_t seq, std::int64_t dim,
                                   float (&tile)[kTileRows][kPitch]) const {
    const float* const source = array + (head * seq + first) * shape_.head_dim + dim;
    const int rows = static_cast<int>(Smaller<std::int64_t>(kTileRows, seq - first));
    const int columns = static_cast<int>(Smaller<std::int64_t>(kTile, shape_.head_dim - dim));
    if (vectors_) {
      LoadVectors(thread, source, shape_.head_dim, rows, columns, tile);
    } else {
      LoadElements(thread, source, shape_.head_dim, rows, columns, tile);
    }
  }

  AttentionShape shape_;
  const float* q_ = nullptr;
  const float* k_ = nullptr;
  const float* v_ = nullptr;
  float* output_ = nullptr;
  // Whether every row begins at an aligned address.
  bool vectors_ = false;
  std::int64_t query_tiles_ = 0;
  // Blocks that share out a head's outputs.
  std::int64_t parts_ = 1;
  std::int64_t segments_ = 1;
  // Of a segment, whole tiles.
  std::int64_t segment_keys_ = 0;
  AttentionPartials partials_;
};

// For at most kFewQueries queries: what it keeps of them is little whatever the head_dim.
inline constexpr int kFewQueries = kThreadRows;
using FewQueriesAttentionKernel = AttentionKernel<256, kFewQueries>;

}  // namespace acceld::cuda
