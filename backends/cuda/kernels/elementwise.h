// How the elements of arrays are shared out among threads: 16 bytes to an access where all arrays
// are aligned alike.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "backends/cuda/kernels/grid.h"

namespace acceld::cuda {

// Loaded and stored by one instruction of 16 bytes.
struct alignas(16) Float4 {
  float x[4];
};

inline constexpr int kVectorLength = 4;

// Whether an access of 16 bytes may be at `pointer`.
template <typename T>
ACCELD_HOST_DEVICE bool IsAligned(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(Float4) == 0;
}

// On a GPU a misaligned access is a fault; on the host it might pass.
ACCELD_HOST_DEVICE void FaultUnlessAligned([[maybe_unused]] const float* pointer) {
#if !defined(__CUDA_ARCH__)
  if (!IsAligned(pointer)) std::abort();
#endif
}

ACCELD_HOST_DEVICE Float4 LoadVector(const float* pointer) {
  FaultUnlessAligned(pointer);
  return *reinterpret_cast<const Float4*>(pointer);
}

ACCELD_HOST_DEVICE void StoreVector(float* pointer, const Float4& v) {
  FaultUnlessAligned(pointer);
  *reinterpret_cast<Float4*>(pointer) = v;
}

// A thread handles kVectorsPerThread vectors, a block's width of vectors apart.
//
// The vectors are those of aligned addresses: the first begins `shift` elements before the array,
// so that only the first and the last may be partial. Where the arrays are not aligned alike there
// are single elements in their place.
class ElementwiseTiling {
 public:
  static constexpr int kThreads = 256;
  static constexpr int kVectorsPerThread = 4;
  static constexpr std::int64_t kBlockElements = kThreads * kVectorsPerThread * kVectorLength;

  ElementwiseTiling() = default;
  // For `n` f32 elements of each of these arrays.
  template <typename... T>
  explicit ElementwiseTiling(std::int64_t n, const float* first, const T*... others) : n_(n) {
    const std::uintptr_t misaligned = reinterpret_cast<std::uintptr_t>(first) % sizeof(Float4);
    vectors_ = ((reinterpret_cast<std::uintptr_t>(others) % sizeof(Float4) == misaligned) && ...);
    shift_ = vectors_ ? static_cast<int>(misaligned / sizeof(float)) : 0;
  }

  Grid grid() const { return {.blocks = CeilDivide(n_ + shift_, kBlockElements)}; }
  std::int64_t n() const { return n_; }

  // For each vector [i, i + 4) of this thread, store_vector(i, vector(i)); for each element that is
  // in none, store_one(i, one(i)). Within a whole block all is loaded before anything is stored, so
  // that loads need not wait for one another.
  template <typename Vector, typename StoreVector, typename One, typename StoreOne>
  ACCELD_HOST_DEVICE void ForEach(std::int64_t block, int thread, Vector vector,
                                  StoreVector store_vector, One one, StoreOne store_one) const {
    const std::int64_t block_first = block * kBlockElements - shift_;
    if (vectors_ && block_first >= 0 && block_first + kBlockElements <= n_) {
      const std::int64_t thread_first = block_first + thread * kVectorLength;
      Float4 results[kVectorsPerThread];
      ACCELD_UNROLL
      for (int v = 0; v < kVectorsPerThread; ++v) {
        results[v] = vector(thread_first + v * (kThreads * kVectorLength));
      }
      ACCELD_UNROLL
      for (int v = 0; v < kVectorsPerThread; ++v) {
        store_vector(thread_first + v * (kThreads * kVectorLength), results[v]);
      }
    } else if (vectors_) {
      for (int v = 0; v < kVectorsPerThread; ++v) {
        const std::int64_t first = block_first + (v * kThreads + thread) * kVectorLength;
        if (first >= 0 && first + kVectorLength <= n_) {
          store_vector(first, vector(first));
        } else {
          const std::int64_t end = Smaller(first + kVectorLength, n_);
          for (std::int64_t i = Larger<std::int64_t>(first, 0); i < end; ++i) store_one(i, one(i));
        }
      }
    } else {
      for (int e = 0; e < kVectorsPerThread * kVectorLength; ++e) {
        const std::int64_t i = block_first + e * kThreads + thread;
        if (i < n_) store_one(i, one(i));
      }
    }
  }

 private:
  std::int64_t n_ = 0;
  bool vectors_ = true;
  int shift_ = 0;
};

}  // namespace acceld::cuda
