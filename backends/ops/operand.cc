#include "backends/ops/operand.h"

#include <algorithm>
#include <optional>

namespace acceld {
namespace {

using Wide = __int128;

struct Range {
  Wide first;
  Wide last;
};

// Divisions of 128 bits are slow, so there is one at most, and none by the pitch or stride 1 that
// stands for a single row or block.
Wide FloorDivide(Wide a, Wide b) {
  if (b == 1) return a;
  const Wide quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}
Wide CeilDivide(Wide a, Wide b) { return -FloorDivide(-a, b); }

// The smallest t >= 0 with (t * step) mod modulus in [first, last], where 0 < first <= last <
// modulus and step < modulus. Like Euclid's algorithm, each level at least halves the modulus.
std::optional<Wide> FirstMultipleInRange(Wide step, Wide modulus, Wide first, Wide last) {
  if (step == 0) return std::nullopt;
  // Steps over half the modulus are short steps the other way.
  if (2 * step > modulus) {
    return FirstMultipleInRange(modulus - step, modulus, modulus - last, modulus - first);
  }
  const Wide t = (first + step - 1) / step;
  if (t * step <= last) return t;
  // The first lap steps over the range. After `laps` laps, t * step = laps * modulus + v with v in
  // the range, so v = -laps * modulus (mod step): the same question, modulo step.
  const std::optional<Wide> laps =
      FirstMultipleInRange((step - modulus % step) % step, step, first % step, last % step);
  if (!laps.has_value()) return std::nullopt;
  return (*laps * modulus + first + step - 1) / step;
}

// Whether offset + d * pitch + e * stride is in `target` for some d and e of their ranges. pitch
// and stride are at least 1.
bool SomeSumIsIn(Range target, Wide offset, Wide pitch, Range d, Wide stride, Range e) {
  // For which e a real d of its range does it. As that range ends at integers, an integer d that
  // does it for such an e can be chosen inside the range.
  e.first = std::max(e.first, CeilDivide(target.first - offset - d.last * pitch, stride));
  e.last = std::min(e.last, FloorDivide(target.last - offset - d.first * pitch, stride));
  if (e.first > e.last) return false;

  const Wide width = target.last - target.first;
  if (width >= pitch - 1) return true;
  const Wide start = offset + e.first * stride - target.first;
  const Wide residue = start - FloorDivide(start, pitch) * pitch;
  if (residue <= width) return true;
  const std::optional<Wide> steps =
      FirstMultipleInRange(stride % pitch, pitch, pitch - residue, pitch - residue + width);
  return steps.has_value() && *steps <= e.last - e.first;
}

// An operand whose meaningless numbers (a single row's pitch, a single block's stride) are 0.
struct Layout {
  explicit Layout(const Operand& operand)
      : start(*operand.address),
        row_bytes(operand.row_bytes),
        rows(operand.rows),
        pitch(operand.rows > 1 ? operand.pitch_bytes : 0),
        batches(operand.batch_stride_bytes > 0 ? operand.batches : 1),
        stride(batches > 1 ? operand.batch_stride_bytes : 0) {}

  Wide EndOfBatch() const { return start + (rows - 1) * pitch + row_bytes; }
  Wide End() const { return EndOfBatch() + (batches - 1) * stride; }

  Wide start;
  Wide row_bytes;
  Wide rows;
  Wide pitch;
  Wide batches;
  Wide stride;
};

// Whether a row of `a` and a row of `b` share a byte. Rows j of block i of `a` and j + d of block
// i + e of `b` do if the latter starts less than its own length before the former, and less than
// the former's length behind it. Pitches are equal or 0 on one side; strides too.
bool RowsOverlap(const Layout& a, const Layout& b) {
  const Wide pitch = std::max({a.pitch, b.pitch, Wide{1}});
  const Wide stride = std::max({a.stride, b.stride, Wide{1}});
  return SomeSumIsIn({1 - b.row_bytes, a.row_bytes - 1}, b.start - a.start, pitch,
                     {1 - a.rows, b.rows - 1}, stride, {1 - a.batches, b.batches - 1});
}

bool EqualOrZero(Wide a, Wide b) { return a == b || a == 0 || b == 0; }

}  // namespace

WideBytes Operand::ExtentBytes() const {
  if (Empty()) return 0;
  return WideBytes{batches - 1} * batch_stride_bytes + WideBytes{rows - 1} * pitch_bytes +
         row_bytes;
}

Operand VectorOperand(std::string_view name, Address& address, Access access, std::int64_t count,
                      std::uint64_t element_bytes) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * element_bytes;
  return {.name = name,
          .address = &address,
          .access = access,
          .element_bytes = element_bytes,
          .row_bytes = bytes,
          .pitch_bytes = bytes};
}

Operand MatrixOperand(std::string_view name, Address& address, Access access, std::int64_t rows,
                      std::int64_t columns, std::int64_t ld, std::uint64_t element_bytes,
                      std::int64_t stride, std::int64_t batches) {
  return {.name = name,
          .address = &address,
          .access = access,
          .element_bytes = element_bytes,
          .row_bytes = static_cast<std::uint64_t>(rows) * element_bytes,
          .pitch_bytes = static_cast<std::uint64_t>(ld) * element_bytes,
          .rows = static_cast<std::uint64_t>(columns),
          .batch_stride_bytes = static_cast<std::uint64_t>(stride) * element_bytes,
          .batches = static_cast<std::uint64_t>(batches)};
}

bool Overlap(const Operand& a, const Operand& b) {
  const Layout left(a);
  const Layout right(b);
  if (left.End() <= right.start || right.End() <= left.start) return false;
  if (!EqualOrZero(left.pitch, right.pitch)) return true;
  if (EqualOrZero(left.stride, right.stride)) return RowsOverlap(left, right);

  const bool left_is_fewer = left.batches <= right.batches;
  Layout block = left_is_fewer ? left : right;
  const Layout& many = left_is_fewer ? right : left;
  if (block.batches > Wide{kMaxExactBatches}) return true;
  const Wide batches = block.batches;
  const Wide stride = block.stride;
  block.batches = 1;
  block.stride = 0;
  for (Wide i = 0; i < batches; ++i, block.start += stride) {
    if (RowsOverlap(block, many)) return true;
  }
  return false;
}

bool OverlapsItself(const Operand& operand) {
  if (operand.batches < 2) return false;
  if (operand.batch_stride_bytes == 0) return true;
  const Layout layout(operand);
  return SomeSumIsIn({1 - layout.row_bytes, layout.row_bytes - 1}, 0,
                     std::max(layout.pitch, Wide{1}), {1 - layout.rows, layout.rows - 1},
                     layout.stride, {1, layout.batches - 1});
}

}  // namespace acceld
