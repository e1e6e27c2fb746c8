#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/reference/ops/extremes.h"
#include "backends/reference/ops/pointers.h"
#include "backends/reference/reference.h"

namespace acceld::reference {
namespace {

// One head: q and output [seq_q, head_dim], k and v [seq_kv, head_dim].
void RunHead(const ops::Attention& op, const float* q, const float* k, const float* v,
             float* output) {
  for (std::int64_t i = 0; i < op.seq_q; ++i) {
    const std::int64_t visible =
        op.causal ? std::clamp<std::int64_t>(i + op.seq_kv - op.seq_q + 1, 0, op.seq_kv)
                  : op.seq_kv;
    std::vector<double> weights(static_cast<std::size_t>(visible));
    double maximum = -INFINITY;
    for (std::int64_t j = 0; j < visible; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < op.head_dim; ++d) {
        dot += static_cast<double>(q[i * op.head_dim + d]) * k[j * op.head_dim + d];
      }
      weights[static_cast<std::size_t>(j)] = op.scale * dot;
      maximum = Larger(maximum, op.scale * dot);
    }
    double total = 0;
    for (double& weight : weights) {
      weight = std::exp(weight - maximum);
      total += weight;
    }
    for (std::int64_t d = 0; d < op.head_dim; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < visible; ++j) {
        sum += weights[static_cast<std::size_t>(j)] * v[j * op.head_dim + d];
      }
      output[i * op.head_dim + d] = visible == 0 ? 0.0f : static_cast<float>(sum / total);
    }
  }
}

}  // namespace

void Run(const ops::Attention& op) {
  for (std::int64_t head = 0; head < op.batch * op.heads; ++head) {
    const std::int64_t query_offset = head * op.seq_q * op.head_dim;
    const std::int64_t key_offset = head * op.seq_kv * op.head_dim;
    RunHead(op, Pointer<const float>(op.q) + query_offset, Pointer<const float>(op.k) + key_offset,
            Pointer<const float>(op.v) + key_offset, Pointer<float>(op.output) + query_offset);
  }
}

}  // namespace acceld::reference
