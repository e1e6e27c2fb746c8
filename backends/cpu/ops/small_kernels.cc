#include "backends/cpu/ops/small_kernels.h"

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

constexpr std::int64_t kLineBytes = 64;

// A tile of C, and what is fetched while it is computed.
struct Place {
  // Its rows are whole vectors: the last one ends with the last row, and may overlap the one before
  // it.
  std::int64_t row;
  std::int64_t last_vector;
  std::int64_t column = 0;
  // Of each operand of the next product as many lines as the tile's sums have products; null where
  // there is nothing to fetch.
  const char* next_a = nullptr;
  const char* next_b = nullptr;
  const char* next_c = nullptr;
};

// Fetches lines `begin` to `end` of each operand.
ACCELD_INLINE void Fetch(const Place& place, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    __builtin_prefetch(place.next_a + i * kLineBytes);
    __builtin_prefetch(place.next_b + i * kLineBytes);
    __builtin_prefetch(place.next_c + i * kLineBytes, /*write=*/1);
  }
}

// After so many products, as many lines are fetched.
constexpr std::int64_t kFetchStep = 4;

// Computes `kVectors` vectors of `kColumns` columns of C. Loops over these are unrolled, so that
// the sums are registers.
template <typename T, int kLanes, int kVectors, int kColumns>
ACCELD_INLINE void MultiplyTile(const KernelProduct<T>& p, const Place& place) {
  using Lanes = typename Vector<T, kLanes>::Lanes;
  const std::int64_t last = place.last_vector - place.row;
  const auto row = [last](int v) { return v + 1 < kVectors ? std::int64_t{v} * kLanes : last; };
  const T* const a = p.a + place.row;
  const T* const b = p.b + place.column * p.b_step;
  const std::int64_t b_step = p.b_step;
  Lanes sums[kColumns][kVectors];
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[j][v] = Lanes{};
  }
  const std::int64_t step = place.next_c != nullptr ? kFetchStep : p.k;
  for (std::int64_t begin = 0; begin < p.k; begin += step) {
    const std::int64_t end = std::min(begin + step, p.k);
    if (place.next_c != nullptr) Fetch(place, begin, end);
    for (std::int64_t l = begin; l < end; ++l) {
      const T* const a_column = a + p.a_columns[l];
      Lanes factors[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        std::memcpy(&factors[v], a_column + row(v), sizeof(Lanes));
      }
      // A pointer that moves takes one register, where kColumns of them would be read from memory.
      const T* factor = b + p.b_rows[l];
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; ++j, factor += b_step) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[j][v] += factors[v] * *factor;
      }
    }
  }
  T* const c = p.c + place.row + place.column * p.ldc;
  if (p.beta == 0) {
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Lanes result = p.alpha * sums[j][v];
        std::memcpy(c + j * p.ldc + row(v), &result, sizeof(Lanes));
      }
    }
    return;
  }
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) {
    // All of a column is read before any is written, since vectors may overlap.
    Lanes results[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(&results[v], c + j * p.ldc + row(v), sizeof(Lanes));
      results[v] = p.alpha * sums[j][v] + p.beta * results[v];
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(c + j * p.ldc + row(v), &results[v], sizeof(Lanes));
    }
  }
}

template <typename T>
using Tile = void (*)(const KernelProduct<T>& p, const Place& place);

// So many products are summed up before they are added to the rest, so that sums keep their digits
// and A stays in the first-level cache.
constexpr std::int64_t kDepth = 512;

constexpr int kMaxVectors = 4;
constexpr int kMaxColumns = 12;

// The tiles of a processor: of each number of vectors those of up to so many columns, as many as
// its registers hold.
template <typename T>
struct Kernels {
  std::int64_t lanes;
  int most_vectors;
  std::array<int, kMaxVectors + 1> most_columns;
  Tile<T> tiles[kMaxVectors + 1][kMaxColumns + 1];
};

// Fills in the tiles of `Isa`, whose Tile<T, kVectors, kColumns> is compiled for its processors.
template <typename Isa, typename T, int kVectors, std::size_t... kIndices>
constexpr void AddTiles(Kernels<T>& kernels, std::index_sequence<kIndices...> /*columns*/) {
  ((kernels.tiles[kVectors][kIndices + 1] =
        Isa::template Run<T, kVectors, static_cast<int>(kIndices) + 1>),
   ...);
}

template <typename Isa, typename T>
constexpr Kernels<T> KernelsOf() {
  Kernels<T> kernels{.lanes = Isa::kBytes / sizeof(T),
                     .most_vectors = Isa::kMostVectors,
                     .most_columns = Isa::kMostColumns,
                     .tiles = {}};
  AddTiles<Isa, T, 1>(kernels, std::make_index_sequence<Isa::kMostColumns[1]>());
  AddTiles<Isa, T, 2>(kernels, std::make_index_sequence<Isa::kMostColumns[2]>());
  AddTiles<Isa, T, 3>(kernels, std::make_index_sequence<Isa::kMostColumns[3]>());
  AddTiles<Isa, T, 4>(kernels, std::make_index_sequence<Isa::kMostColumns[4]>());
  return kernels;
}

// 16 registers.
struct Baseline {
  static constexpr int kBytes = 16;
  static constexpr int kMostVectors = 3;
  static constexpr std::array<int, kMaxVectors + 1> kMostColumns = {0, 8, 6, 4, 0};

  template <typename T, int kVectors, int kColumns>
  static void Run(const KernelProduct<T>& p, const Place& place) {
    MultiplyTile<T, kBytes / sizeof(T), kVectors, kColumns>(p, place);
  }
};

#if defined(__x86_64__)
struct Avx2 {
  static constexpr int kBytes = 32;
  static constexpr int kMostVectors = 3;
  static constexpr std::array<int, kMaxVectors + 1> kMostColumns = {0, 8, 6, 4, 0};

  template <typename T, int kVectors, int kColumns>
  __attribute__((target("arch=x86-64-v3"))) static void Run(const KernelProduct<T>& p,
                                                            const Place& place) {
    MultiplyTile<T, kBytes / sizeof(T), kVectors, kColumns>(p, place);
  }
};

// 32 registers.
struct Avx512 {
  static constexpr int kBytes = 64;
  static constexpr int kMostVectors = 4;
  static constexpr std::array<int, kMaxVectors + 1> kMostColumns = {0, 12, 12, 8, 6};

  template <typename T, int kVectors, int kColumns>
  __attribute__((target("arch=x86-64-v4"))) static void Run(const KernelProduct<T>& p,
                                                            const Place& place) {
    MultiplyTile<T, kBytes / sizeof(T), kVectors, kColumns>(p, place);
  }
};
#endif

template <typename T>
const Kernels<T>& KernelsOfProcessor() {
  static constexpr Kernels<T> kBaseline = KernelsOf<Baseline, T>();
#if defined(__x86_64__)
  static constexpr Kernels<T> kAvx2 = KernelsOf<Avx2, T>();
  static constexpr Kernels<T> kAvx512 = KernelsOf<Avx512, T>();
  static const Kernels<T>& chosen = __builtin_cpu_supports("x86-64-v4")   ? kAvx512
                                    : __builtin_cpu_supports("x86-64-v3") ? kAvx2
                                                                          : kBaseline;
  return chosen;
#else
  return kBaseline;
#endif
}

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Calls body(begin, size) for as few parts of [0, count) as are of at most `most`, all of nearly
// the same size.
template <typename Body>
void ForEachPart(std::int64_t count, std::int64_t most, Body body) {
  const std::int64_t parts = CeilDivide(count, most);
  const std::int64_t size = count / parts;
  const std::int64_t longer = count % parts;
  for (std::int64_t i = 0; i < parts; ++i) {
    body(i * size + std::min(i, longer), size + (i < longer ? 1 : 0));
  }
}

// The operands of the product that is computed next, and how much of each there is to fetch.
struct Operands {
  const char* a = nullptr;
  const char* b = nullptr;
  const char* c = nullptr;
  std::int64_t bytes = 0;
};

template <typename T>
Operands NextOperands(const KernelProduct<T>& p) {
  if (p.next_c == 0) return {};
  const std::int64_t most = std::max({p.m * p.k, p.k * p.n, p.m * p.n});
  return {.a = reinterpret_cast<const char*>(p.a + p.next_a),
          .b = reinterpret_cast<const char*>(p.b + p.next_b),
          .c = reinterpret_cast<const char*>(p.c + p.next_c),
          .bytes = most * static_cast<std::int64_t>(sizeof(T))};
}

}  // namespace

template <typename T>
std::int64_t KernelLanes() {
  return KernelsOfProcessor<T>().lanes;
}

template <typename T>
void RunKernel(const KernelProduct<T>& product) {
  const Kernels<T>& kernels = KernelsOfProcessor<T>();
  const std::int64_t vectors = CeilDivide(product.m, kernels.lanes);
  KernelProduct<T> p = product;
  for (std::int64_t l = 0; l < product.k; l += kDepth) {
    p.k = std::min(kDepth, product.k - l);
    p.a_columns = product.a_columns + l;
    p.b_rows = product.b_rows + l;
    const Operands next = l == 0 ? NextOperands(product) : Operands{};
    std::int64_t fetched = 0;
    // Of more vectors than a part takes each part has two or more: the one that overlaps is in the
    // same tile as the one it overlaps.
    ForEachPart(vectors, kernels.most_vectors, [&](std::int64_t first, std::int64_t count) {
      Place place{.row = first * kernels.lanes,
                  .last_vector = std::min((first + count) * kernels.lanes, p.m) - kernels.lanes};
      const auto& tiles = kernels.tiles[count];
      ForEachPart(p.n, kernels.most_columns[static_cast<std::size_t>(count)],
                  [&](std::int64_t column, std::int64_t columns) {
                    place.column = column;
                    const bool fetches = fetched < next.bytes;
                    place.next_a = fetches ? next.a + fetched : nullptr;
                    place.next_b = fetches ? next.b + fetched : nullptr;
                    place.next_c = fetches ? next.c + fetched : nullptr;
                    fetched += p.k * kLineBytes;
                    tiles[columns](p, place);
                  });
    });
    p.beta = 1;
  }
}

template std::int64_t KernelLanes<float>();
template std::int64_t KernelLanes<double>();
template void RunKernel(const KernelProduct<float>& product);
template void RunKernel(const KernelProduct<double>& product);

}  // namespace acceld::cpu
