// Own kernels for small products of matrices, without copies of the operands: sums stay in
// registers, a tile of C at a time.
#pragma once

#include <cstdint>

namespace acceld::cpu {

// C[i, j] = alpha (sum over l of A[i, l] B[l, j]) + beta C[i, j] for [m, k] x [k, n] -> [m, n].
// Where A[i, l] is a[a_columns[l] + i], B[l, j] is b[b_rows[l] + j * b_step] and C[i, j] is
// c[i + j * ldc]. C is not read for beta 0.
template <typename T>
struct KernelProduct {
  // At least KernelLanes<T>().
  std::int64_t m;
  std::int64_t n;
  // At least 1.
  std::int64_t k;
  T alpha;
  const T* a;
  const std::int64_t* a_columns;
  const T* b;
  const std::int64_t* b_rows;
  std::int64_t b_step;
  T beta;
  T* c;
  std::int64_t ldc;
  // How far behind the operands those of a product lie that is computed next, in elements: they are
  // fetched meanwhile. 0 where nothing needs to be.
  std::int64_t next_a = 0;
  std::int64_t next_b = 0;
  std::int64_t next_c = 0;
};

// How many elements this processor's vectors have, for T float or double.
template <typename T>
std::int64_t KernelLanes();

// In the calling thread. Each element is summed up in the order of l, and sums of 512 each are
// added up.
template <typename T>
void RunKernel(const KernelProduct<T>& product);

}  // namespace acceld::cpu
