// attention: scaled dot-product attention (Vaswani et al., 2017).
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "backends/core/handles.h"
#include "backends/core/values.h"
#include "backends/ops/operand.h"

namespace acceld::ops {

// output = softmax(scale Q K^T) V for each batch and head; f32, dense.
//
// Causal: query i sees the keys j <= i + seq_kv - seq_q; a query that sees none outputs zeros.
// Every size is at least 1.
struct Attention {
  static constexpr std::string_view kName = "attention";
  static constexpr OpClass kClass = OpClass::kAttention;
  static constexpr bool kInPlace = false;

  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t seq_q = 0;
  std::int64_t seq_kv = 0;
  std::int64_t head_dim = 0;
  // Multiplies the products; positive and finite. Commonly 1 / sqrt(head_dim).
  float scale = 1;
  bool causal = false;
  // [batch, heads, seq_q, head_dim]
  Address q = 0;
  // [batch, heads, seq_kv, head_dim]
  Address k = 0;
  // [batch, heads, seq_kv, head_dim]
  Address v = 0;
  // [batch, heads, seq_q, head_dim]; overwritten
  Address output = 0;

  absl::Status Check() const;
  OperandList Operands();
  double Flops() const;
};

}  // namespace acceld::ops
