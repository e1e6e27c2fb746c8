// Every op there is, as one variant. The daemon, the transports and the client handle an `Op` and
// never name one; only the conversion to the wire, each device's kernel table and the tests do.
//
// An op is a struct with its parameters and
//   kName, kClass     how it is shown and grouped;
//   kInPlace          whether an output may be exactly an input;
//   Check()           whether shapes, enums, strides and indices are valid, whatever the addresses;
//   Operands()        the memory it reads and writes; called only after Check() was OK, which also
//                     ensures that each ends within 2^62 bytes. What is never read (A of a gemm
//                     with alpha 0) is an operand of no bytes;
//   Flops()           roughly how many arithmetic operations it takes.
#pragma once

#include <bitset>
#include <concepts>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "backends/core/values.h"
#include "backends/ops/attention.h"
#include "backends/ops/batched_gemm.h"
#include "backends/ops/binary.h"
#include "backends/ops/conv2d_backward_data.h"
#include "backends/ops/conv2d_backward_filter.h"
#include "backends/ops/conv2d_forward.h"
#include "backends/ops/copy_dtod.h"
#include "backends/ops/gather.h"
#include "backends/ops/gemm.h"
#include "backends/ops/gemm_mixed_precision.h"
#include "backends/ops/memset.h"
#include "backends/ops/reduce.h"
#include "backends/ops/scatter.h"
#include "backends/ops/softmax.h"
#include "backends/ops/unary.h"

namespace acceld {

using Op = std::variant<ops::Gemm, ops::GemmMixedPrecision, ops::BatchedGemm, ops::Conv2dForward,
                        ops::Conv2dBackwardData, ops::Conv2dBackwardFilter, ops::Attention,
                        ops::Reduce, ops::Softmax, ops::Unary, ops::Binary, ops::Gather,
                        ops::Scatter, ops::Memset, ops::CopyDtoD>;

inline constexpr std::size_t kOpCount = std::variant_size_v<Op>;

// Which ops a device has a kernel for, by the op's index in `Op`.
using OpSet = std::bitset<kOpCount>;

template <typename T>
concept IsOp = requires(const T& op, T& mutable_op) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kClass } -> std::convertible_to<OpClass>;
  { T::kInPlace } -> std::convertible_to<bool>;
  { op.Check() } -> std::same_as<absl::Status>;
  { mutable_op.Operands() } -> std::same_as<OperandList>;
  { op.Flops() } -> std::same_as<double>;
};

// The name of the op at `index` in `Op`; empty past the end.
std::string_view OpName(std::size_t index);
std::string_view OpName(const Op& op);
OpClass ClassOf(const Op& op);
bool AllowsInPlace(const Op& op);
absl::Status CheckParameters(const Op& op);
OperandList OperandsOf(Op& op);
double FlopsOf(const Op& op);

// The index in `Op` of the op of this name; kOpCount where there is none.
std::size_t OpIndex(std::string_view name);

// The bytes that the lists in `op` (row indices) take on the host besides the op itself.
std::uint64_t ListBytesOf(const Op& op);

// The bytes all operands of `op` have, read and written alike. Only for a checked op.
double BytesOf(Op& op);

}  // namespace acceld
