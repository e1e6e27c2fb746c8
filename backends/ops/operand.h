// An operand: the memory an op reads or writes at one address, as a batch of equally spaced blocks
// of equally spaced rows. Each op states its operands once; bounds, overlap and lifetime checks,
// the translation of addresses, costs and traces are all derived from that statement.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "backends/core/handles.h"

namespace acceld {

// kWrite overwrites every element and reads none; an op that keeps some elements is kReadWrite.
enum class Access : std::uint8_t { kRead, kWrite, kReadWrite };

// A count of bytes that may exceed 64 bits while it is computed.
using WideBytes = unsigned __int128;

struct Operand {
  // As the op's field: "a", "input".
  std::string_view name;
  // The op's own field, so that translation can replace it.
  Address* address = nullptr;
  Access access = Access::kRead;
  // The address is a multiple of this.
  std::uint64_t element_bytes = 1;

  // `rows` runs of `row_bytes`, `pitch_bytes` from start to start (pitch_bytes >= row_bytes). For a
  // column-major matrix a run is a column and the pitch is its leading dimension.
  std::uint64_t row_bytes = 0;
  std::uint64_t pitch_bytes = 0;
  std::uint64_t rows = 1;

  // `batches` such blocks, `batch_stride_bytes` from start to start.
  std::uint64_t batch_stride_bytes = 0;
  std::uint64_t batches = 1;

  bool Empty() const { return row_bytes == 0 || rows == 0 || batches == 0; }
  bool Written() const { return access != Access::kRead; }

  // From the address to the end of the last element; 0 where empty.
  WideBytes ExtentBytes() const;

  // How many bytes the elements have, without the gaps.
  WideBytes ElementBytes() const { return WideBytes{row_bytes} * rows * batches; }

  // Whether there are no gaps: each byte of the extent is an element's. Of an operand that does not
  // overlap itself, as no written one does.
  bool Dense() const { return ElementBytes() == ExtentBytes(); }
};

// At most this many operands has any op.
inline constexpr int kMaxOperands = 4;
using OperandList = absl::InlinedVector<Operand, kMaxOperands>;

// `count` adjacent elements.
Operand VectorOperand(std::string_view name, Address& address, Access access, std::int64_t count,
                      std::uint64_t element_bytes);

// A column-major [rows, columns] matrix with leading dimension `ld` (in elements), or a batch of
// them `stride` elements apart.
Operand MatrixOperand(std::string_view name, Address& address, Access access, std::int64_t rows,
                      std::int64_t columns, std::int64_t ld, std::uint64_t element_bytes,
                      std::int64_t stride = 0, std::int64_t batches = 1);

// Of two operands with more than this many batches each, at different strides, only the extents are
// compared.
inline constexpr std::uint64_t kMaxExactBatches = 1024;

// Whether two operands share a byte. Exact where their pitches are equal or one has a single row,
// so that the blocks of one matrix may be operands of one op; by their extents, and so
// conservative, otherwise, and beyond kMaxExactBatches. The time does not depend on the sizes, but
// for the batches of different strides, which are looked at one by one. Neither operand is empty.
bool Overlap(const Operand& a, const Operand& b);

// Whether two blocks of one operand's batch share a byte; exact, in a time that does not depend on
// the sizes. The operand is not empty.
bool OverlapsItself(const Operand& operand);

}  // namespace acceld
