// What the tests of matrix products share.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "backends/reference/reference.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr std::initializer_list<Transpose> kTransposes = {
    Transpose::kNone, Transpose::kTranspose, Transpose::kConjugateTranspose};

inline std::int64_t Count(std::int64_t rows, std::int64_t columns, std::int64_t ld) {
  return rows == 0 || columns == 0 ? 0 : (columns - 1) * ld + rows;
}

// Runs `op`, whose A and B are set, on the device into `c` and by the reference into a copy of it.
template <typename T, typename GemmOp>
void ExpectLikeReference(TestDevice& device, GemmOp op, std::vector<T> c, double relative,
                         double absolute) {
  auto expected = c;
  op.c = AddressOf(c);
  ASSERT_THAT(device.Run(Op(op)), IsOk());
  op.c = AddressOf(expected);
  reference::Run(op);
  ExpectClose(c, expected, relative, absolute);
}

// Runs `op`, any of the gemms, on copies of the data, on the device and by the reference. The gaps
// of C hold NaN, which must stay.
template <typename T, typename GemmOp>
void ExpectLikeReference(TestDevice& device, Random& random, GemmOp op, double tolerance) {
  const bool plain_a = op.transpose_a == Transpose::kNone;
  const bool plain_b = op.transpose_b == Transpose::kNone;
  op.lda = std::max<std::int64_t>(1, plain_a ? op.m : op.k) + random.Integer(0, 3);
  op.ldb = std::max<std::int64_t>(1, plain_b ? op.k : op.n) + random.Integer(0, 3);
  op.ldc = std::max<std::int64_t>(1, op.m) + random.Integer(0, 3);
  const auto a = random.Vector<T>(Count(op.lda, plain_a ? op.k : op.m, op.lda));
  const auto b = random.Vector<T>(Count(op.ldb, plain_b ? op.n : op.k, op.ldb));
  auto c = random.Vector<T>(Count(op.m, op.n, op.ldc));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.size()); ++i) {
    if (i % op.ldc >= op.m || op.beta == 0) c[static_cast<std::size_t>(i)] = kNaN;
  }
  op.a = AddressOf(a);
  op.b = AddressOf(b);
  ExpectLikeReference(device, op, std::move(c), tolerance,
                      tolerance * static_cast<double>(op.k + 1));
}

}  // namespace acceld
