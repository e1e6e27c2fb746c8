// Own kernels for small products of matrices, without copies of the operands: sums stay in
// registers, a tile of C at a time.
#pragma once

#include <cstdint>

#include "backends/cpu/ops/matrix_product.h"

namespace acceld::cpu {

// C[i, j] = alpha (sum over l of A[i, l] B[l, j]) + beta C[i, j] for [m, k] x [k, n] -> [m, n].
// Where A[i, l] is a[a_columns[l] + i], B[l, j] is b[b_rows[l] + j * b_step] and C[i, j] is
// c[i + j * ldc]. C is not read for beta 0.
template <typename T>
struct KernelProduct {
  // At least LeastKernelRows<T>().
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
};

// How many elements this processor's longest vectors have, for T float or double.
template <typename T>
std::int64_t KernelLanes();

// How many its shortest have that are worth a kernel.
template <typename T>
std::int64_t LeastKernelRows();

// Computes `count` products, `product` and those `strides` behind it, in the calling thread. Each
// element is summed up in the order of l, and sums of 512 each are added up.
template <typename T>
void RunKernel(const KernelProduct<T>& product, const ProductStrides& strides = {},
               std::int64_t count = 1);

}  // namespace acceld::cpu
