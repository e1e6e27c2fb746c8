#include "backends/cpu/ops/small_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/types/span.h"
#include "backends/cpu/multiversion.h"

namespace acceld::cpu {
namespace {

template <typename T, int kLanes>
struct Vector {
  typedef T Lanes __attribute__((vector_size(kLanes * sizeof(T))));
};

// Computes `kVectors` vectors of `kColumns` columns of C, which with what A and B have for them
// begin at `a`, `b` and `c`. The last vector lies `last` behind them, and may overlap the one
// before it. Loops over vectors and columns are unrolled, so that the sums are registers.
template <typename T, int kLanes, int kVectors, int kColumns>
ACCELD_INLINE void MultiplyTile(const KernelProduct<T>& p, const T* a, const T* b, T* c,
                                std::int64_t last) {
  using Lanes = typename Vector<T, kLanes>::Lanes;
  const auto row = [last](int v) { return v + 1 < kVectors ? std::int64_t{v} * kLanes : last; };
  const std::int64_t b_step = p.b_step;
  const std::int64_t k = p.k;
  Lanes sums[kColumns][kVectors];
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[j][v] = Lanes{};
  }
  for (std::int64_t l = 0; l < k; ++l) {
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
  // Read before C is written, which for the compiler may be where they are.
  const T alpha = p.alpha;
  const T beta = p.beta;
  const std::int64_t ldc = p.ldc;
  if (alpha != 1) {
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[j][v] *= alpha;
    }
  }
  if (beta == 0) {
    // Or the columns' addresses, which the other branch has as well, are computed before it.
    asm("" : "+r"(c));
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j, c += ldc) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) std::memcpy(c + row(v), &sums[j][v], sizeof(Lanes));
    }
    return;
  }
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j, c += ldc) {
    // All of a column is read before any is written, since vectors may overlap.
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Lanes former;
      std::memcpy(&former, c + row(v), sizeof(Lanes));
      sums[j][v] += beta * former;
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) std::memcpy(c + row(v), &sums[j][v], sizeof(Lanes));
  }
}

template <typename T>
using Tile = void (*)(const KernelProduct<T>& p, const T* a, const T* b, T* c, std::int64_t last);

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
  std::int64_t most_vectors;
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
  static void Run(const KernelProduct<T>& p, const T* a, const T* b, T* c, std::int64_t last) {
    MultiplyTile<T, kBytes / sizeof(T), kVectors, kColumns>(p, a, b, c, last);
  }
};

#if defined(__x86_64__)
struct Avx2 {
  static constexpr int kBytes = 32;
  static constexpr int kMostVectors = 3;
  static constexpr std::array<int, kMaxVectors + 1> kMostColumns = {0, 8, 6, 4, 0};

  template <typename T, int kVectors, int kColumns>
  __attribute__((target("arch=x86-64-v3"))) static void Run(const KernelProduct<T>& p, const T* a,
                                                            const T* b, T* c, std::int64_t last) {
    MultiplyTile<T, kBytes / sizeof(T), kVectors, kColumns>(p, a, b, c, last);
  }
};

// 32 registers.
struct Avx512 {
  static constexpr int kBytes = 64;
  static constexpr int kMostVectors = 4;
  static constexpr std::array<int, kMaxVectors + 1> kMostColumns = {0, 12, 8, 8, 6};

  template <typename T, int kVectors, int kColumns>
  __attribute__((target("arch=x86-64-v4"))) static void Run(const KernelProduct<T>& p, const T* a,
                                                            const T* b, T* c, std::int64_t last) {
    MultiplyTile<T, kBytes / sizeof(T), kVectors, kColumns>(p, a, b, c, last);
  }
};
#endif

// The processor's, those with the longest vectors first.
template <typename T>
absl::Span<const Kernels<T>> KernelsOfProcessor() {
#if defined(__x86_64__)
  static constexpr Kernels<T> kAll[] = {KernelsOf<Avx512, T>(), KernelsOf<Avx2, T>(),
                                        KernelsOf<Baseline, T>()};
  static const absl::Span<const Kernels<T>> those =
      __builtin_cpu_supports("x86-64-v4")   ? absl::MakeConstSpan(kAll).first(2)
      : __builtin_cpu_supports("x86-64-v3") ? absl::MakeConstSpan(kAll).subspan(1, 1)
                                            : absl::MakeConstSpan(kAll).last(1);
  return those;
#else
  static constexpr Kernels<T> kAll[] = {KernelsOf<Baseline, T>()};
  return kAll;
#endif
}

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// As few parts of [0, count) as are of at most `most`, all of nearly the same size.
class Parts {
 public:
  Parts() = default;
  Parts(std::int64_t count, std::int64_t most)
      : parts_(CeilDivide(count, most)), size_(count / parts_), longer_(count % parts_) {}

  std::int64_t size() const { return size_; }

  // Calls body(begin, size) for each.
  template <typename Body>
  void ForEach(Body body) const {
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t size = size_ + (i < longer_ ? 1 : 0);
      body(begin, size);
      begin += size;
    }
  }

 private:
  std::int64_t parts_ = 0;
  std::int64_t size_ = 0;
  std::int64_t longer_ = 0;
};

}  // namespace

template <typename T>
std::int64_t KernelLanes() {
  return KernelsOfProcessor<T>().front().lanes;
}

template <typename T>
std::int64_t LeastKernelRows() {
  return KernelsOfProcessor<T>().back().lanes;
}

template <typename T>
void RunKernel(const KernelProduct<T>& product, const ProductStrides& strides, std::int64_t count) {
  const absl::Span<const Kernels<T>> all = KernelsOfProcessor<T>();
  const Kernels<T>& kernels = product.m < all.front().lanes ? all.back() : all.front();
  const std::int64_t lanes = kernels.lanes;
  // Of more vectors than a part takes each part has two or more: the one that overlaps is in the
  // same tile as the one it overlaps.
  const Parts rows(CeilDivide(product.m, lanes), kernels.most_vectors);
  Parts columns[kMaxVectors + 1];
  for (std::int64_t v = rows.size(); v <= std::min(rows.size() + 1, kernels.most_vectors); ++v) {
    columns[v] = Parts(product.n, kernels.most_columns[static_cast<std::size_t>(v)]);
  }
  KernelProduct<T> p = product;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t l = 0; l < product.k; l += kDepth) {
      p.k = std::min(kDepth, product.k - l);
      p.a_columns = product.a_columns + l;
      p.b_rows = product.b_rows + l;
      p.beta = l == 0 ? product.beta : 1;
      rows.ForEach([&](std::int64_t first, std::int64_t vectors) {
        const std::int64_t row = first * lanes;
        const std::int64_t last = std::min(vectors * lanes, p.m - row) - lanes;
        const auto& tiles = kernels.tiles[vectors];
        columns[vectors].ForEach([&](std::int64_t column, std::int64_t size) {
          tiles[size](p, p.a + row, p.b + column * p.b_step, p.c + row + column * p.ldc, last);
        });
      });
    }
    p.a += strides.a;
    p.b += strides.b;
    p.c += strides.c;
  }
}

template std::int64_t LeastKernelRows<float>();
template std::int64_t LeastKernelRows<double>();
template std::int64_t KernelLanes<float>();
template std::int64_t KernelLanes<double>();
template void RunKernel(const KernelProduct<float>& product, const ProductStrides& strides,
                        std::int64_t count);
template void RunKernel(const KernelProduct<double>& product, const ProductStrides& strides,
                        std::int64_t count);

}  // namespace acceld::cpu
