#include "backends/cpu/ops/dot_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "backends/cpu/multiversion.h"

namespace acceld::cpu {
namespace {

template <typename T, int kLanes>
struct Vector {
  typedef T Lanes __attribute__((vector_size(kLanes * sizeof(T))));
};

// Or the compiler reads a row from memory for each column, and loads are what limits the loop.
template <typename Lanes>
ACCELD_INLINE void KeepInRegister([[maybe_unused]] Lanes& lanes) {
#if defined(__x86_64__)
  asm("" : "+v"(lanes));
#endif
}

// A tile of `kRows` x `kColumns` sums, which are registers.
template <typename T, int kLanes, int kRows, int kColumns>
ACCELD_INLINE void AddTile(const DotProducts<T>& p, const T* a, const T* b, T* lanes) {
  using Lanes = typename Vector<T, kLanes>::Lanes;
  const std::int64_t a_step = p.a_step;
  const std::int64_t b_step = p.b_step;
  Lanes sums[kColumns][kRows];
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sums[j][i] = Lanes{};
  }
  const auto add = [&](std::int64_t l, std::size_t bytes) ACCELD_INLINE_LAMBDA {
    Lanes factors[kColumns] = {};
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) std::memcpy(&factors[j], b + j * b_step + l, bytes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      Lanes row = {};
      std::memcpy(&row, a + i * a_step + l, bytes);
      KeepInRegister(row);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) sums[j][i] += row * factors[j];
    }
  };
  const std::int64_t whole = p.depth / kLanes * kLanes;
  for (std::int64_t l = 0; l < whole; l += kLanes) add(l, sizeof(Lanes));
  if (whole < p.depth) add(whole, static_cast<std::size_t>(p.depth - whole) * sizeof(T));
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      T* const total = lanes + (j * kDotRows + i) * kDotLanes<T>;
      Lanes former;
      std::memcpy(&former, total, sizeof former);
      former += sums[j][i];
      std::memcpy(total, &former, sizeof former);
    }
  }
}

template <typename T>
using Tile = void (*)(const DotProducts<T>& p, const T* a, const T* b, T* lanes);

constexpr int kMaxColumns = 3;

// The tiles of a processor, by rows and columns.
template <typename T>
struct Kernels {
  std::int64_t most_rows;
  std::int64_t most_columns;
  Tile<T> tiles[kDotRows + 1][kMaxColumns + 1];
};

template <typename Isa, typename T, int kRows, std::size_t... kIndices>
constexpr void AddTiles(Kernels<T>& kernels, std::index_sequence<kIndices...> /*columns*/) {
  ((kernels.tiles[kRows][kIndices + 1] =
        Isa::template Run<T, kRows, static_cast<int>(kIndices) + 1>),
   ...);
}

template <typename Isa, typename T, std::size_t... kIndices>
constexpr Kernels<T> KernelsOf(std::index_sequence<kIndices...> /*rows*/) {
  Kernels<T> kernels{
      .most_rows = sizeof...(kIndices), .most_columns = Isa::kMostColumns, .tiles = {}};
  (AddTiles<Isa, T, static_cast<int>(kIndices) + 1>(kernels,
                                                    std::make_index_sequence<Isa::kMostColumns>()),
   ...);
  return kernels;
}

template <typename Isa, typename T>
constexpr Kernels<T> KernelsOf() {
  return KernelsOf<Isa, T>(std::make_index_sequence<Isa::kMostRows>());
}

// 16 registers.
struct Baseline {
  static constexpr int kBytes = 16;
  static constexpr int kMostRows = 4;
  static constexpr int kMostColumns = 2;

  template <typename T, int kRows, int kColumns>
  static void Run(const DotProducts<T>& p, const T* a, const T* b, T* lanes) {
    AddTile<T, kBytes / sizeof(T), kRows, kColumns>(p, a, b, lanes);
  }
};

#if defined(__x86_64__)
struct Avx2 {
  static constexpr int kBytes = 32;
  static constexpr int kMostRows = 4;
  static constexpr int kMostColumns = 2;

  template <typename T, int kRows, int kColumns>
  __attribute__((target("arch=x86-64-v3"))) static void Run(const DotProducts<T>& p, const T* a,
                                                            const T* b, T* lanes) {
    AddTile<T, kBytes / sizeof(T), kRows, kColumns>(p, a, b, lanes);
  }
};

// 32 registers.
struct Avx512 {
  static constexpr int kBytes = 64;
  static constexpr int kMostRows = 8;
  static constexpr int kMostColumns = 3;

  template <typename T, int kRows, int kColumns>
  __attribute__((target("arch=x86-64-v4"))) static void Run(const DotProducts<T>& p, const T* a,
                                                            const T* b, T* lanes) {
    AddTile<T, kBytes / sizeof(T), kRows, kColumns>(p, a, b, lanes);
  }
};
#endif

template <typename T>
const Kernels<T>& KernelsOfProcessor() {
  static constexpr Kernels<T> kBaseline = KernelsOf<Baseline, T>();
#if defined(__x86_64__)
  static constexpr Kernels<T> kAvx2 = KernelsOf<Avx2, T>();
  static constexpr Kernels<T> kAvx512 = KernelsOf<Avx512, T>();
  static const Kernels<T>& those = __builtin_cpu_supports("x86-64-v4")   ? kAvx512
                                   : __builtin_cpu_supports("x86-64-v3") ? kAvx2
                                                                         : kBaseline;
  return those;
#else
  return kBaseline;
#endif
}

}  // namespace

template <typename T>
void AddDots(const DotProducts<T>& p, T* lanes) {
  const Kernels<T>& kernels = KernelsOfProcessor<T>();
  for (std::int64_t i = 0; i < p.rows; i += kernels.most_rows) {
    const std::int64_t rows = std::min(kernels.most_rows, p.rows - i);
    for (std::int64_t j = 0; j < p.columns; j += kernels.most_columns) {
      const std::int64_t columns = std::min(kernels.most_columns, p.columns - j);
      kernels.tiles[rows][columns](p, p.a + i * p.a_step, p.b + j * p.b_step,
                                   lanes + (j * kDotRows + i) * kDotLanes<T>);
    }
  }
}

template <typename T>
T SumOfLanes(const T* lanes) {
  T sums[kDotLanes<T>];
  std::copy_n(lanes, kDotLanes<T>, sums);
  for (std::int64_t width = kDotLanes<T> / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

template void AddDots(const DotProducts<float>& products, float* lanes);
template void AddDots(const DotProducts<double>& products, double* lanes);
template float SumOfLanes(const float* lanes);
template double SumOfLanes(const double* lanes);

}  // namespace acceld::cpu
