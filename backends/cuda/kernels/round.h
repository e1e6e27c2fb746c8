// f32 rounded to the 16-bit formats, for products on tensor cores.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "backends/core/values.h"
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/row_tiling.h"

namespace acceld::cuda {

ACCELD_HOST_DEVICE std::uint32_t BitsOf(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// To nearest, ties to even; a NaN stays one.
ACCELD_HOST_DEVICE std::uint16_t RoundToBf16(float value) {
  const std::uint32_t bits = BitsOf(value);
  const std::uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>(value != value ? 0x7fff : rounded >> 16);
}

// To nearest, ties to even; subnormals are kept, 65520 and above is infinity, a NaN stays one.
ACCELD_HOST_DEVICE std::uint16_t RoundToF16(float value) {
  const std::uint32_t bits = BitsOf(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  // Rebiases the exponent from 127 to 15; a carry out of the mantissa raises it.
  std::uint32_t rounded =
      (magnitude - ((127u - 15u) << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  if (magnitude >= 0x47800000) rounded = 0x7c00;  // 2^16
  if (magnitude < 0x38800000) {
    // Below 2^-14 f16 counts in units of 2^-24, the last places of an f32 in [1/2, 1).
    rounded = BitsOf((value < 0 ? -value : value) + 0.5f) - BitsOf(0.5f);
  }
  if (value != value) rounded = 0x7fff;
  return static_cast<std::uint16_t>(rounded | ((bits >> 16) & 0x8000));
}

// target = source rounded, column-major [rows, columns] with leading dimensions ld and target_ld.
class RoundKernel {
 public:
  using Registers = NoRegisters;
  static constexpr int kThreads = RowTiling::kThreads;
  static constexpr int kBlocksAtOnce = 4;

  RoundKernel() = default;
  RoundKernel(MixedPrecision precision, std::int64_t rows, std::int64_t columns,
              const float* source, std::int64_t ld, std::uint16_t* target, std::int64_t target_ld)
      : precision_(precision),
        source_(source),
        ld_(ld),
        target_(target),
        target_ld_(target_ld),
        vectors_(rows % kVectorLength == 0 && ld % kVectorLength == 0 &&
                 target_ld % kVectorLength == 0 && IsAligned(source) && IsAligned(target)),
        tiling_(columns, vectors_ ? rows / kVectorLength : rows) {}

  Grid grid() const { return tiling_.grid(); }
  auto operands() const {
    const std::int64_t rows = tiling_.units() * (vectors_ ? kVectorLength : 1);
    return std::array{Reads(source_, MatrixSpan(rows, tiling_.rows(), ld_)),
                      Writes(target_, MatrixSpan(rows, tiling_.rows(), target_ld_))};
  }
  std::uint16_t* target() const { return target_; }

  template <typename Block>
  ACCELD_HOST_DEVICE void operator()(Block& block) const {
    block.Phase([&](int thread, Registers&) {
      const RowTiling::Part part = tiling_.At(block.index(), thread);
      const float* const source = source_ + part.row * ld_;
      std::uint16_t* const target = target_ + part.row * target_ld_;
      for (int e = 0; e < part.count; ++e) {
        const std::int64_t unit = part.first + e * part.step;
        if (vectors_) {
          RoundVector(source + unit * kVectorLength, target + unit * kVectorLength);
        } else {
          target[unit] = Round(source[unit]);
        }
      }
    });
  }

 private:
  // What is stored by it is later read as numbers of 16 bits.
  using FourNumbers __attribute__((may_alias)) = std::uint64_t;

  ACCELD_HOST_DEVICE std::uint16_t Round(float value) const {
    return precision_ == MixedPrecision::kF16 ? RoundToF16(value) : RoundToBf16(value);
  }

  ACCELD_HOST_DEVICE void RoundVector(const float* source, std::uint16_t* target) const {
    const Float4 v = LoadVector(source);
    // Packed by hand, so that it is one store.
    std::uint64_t rounded = 0;
    ACCELD_UNROLL
    for (int e = 0; e < kVectorLength; ++e) {
      rounded |= static_cast<std::uint64_t>(Round(v.x[e])) << (16 * e);
    }
    *reinterpret_cast<FourNumbers*>(target) = rounded;
  }

  MixedPrecision precision_ = MixedPrecision::kBf16;
  const float* source_ = nullptr;
  std::int64_t ld_ = 0;
  std::uint16_t* target_ = nullptr;
  std::int64_t target_ld_ = 0;
  bool vectors_ = false;
  RowTiling tiling_;
};

}  // namespace acceld::cuda
