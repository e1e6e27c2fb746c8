#include "backends/cpu/ops/thin_product.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "backends/core/status.h"
#include "backends/cpu/ops/dot_kernels.h"
#include "backends/cpu/ops/small_kernels.h"
#include "backends/cpu/ops/transpose_columns.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Fewer rows, or columns, are few.
constexpr std::int64_t kFew = 64;

// Less is not worth a thread.
constexpr std::int64_t kRowsPerThread = 64;
constexpr std::int64_t kDepthPerThread = 4096;

// How much of a factor, or of C, is copied at a time: what stays in the second-level cache.
template <typename T>
constexpr std::int64_t kBlock = 128 * 1024 / std::int64_t{sizeof(T)};

// So deep is a block of rows that lie along the depth. Where the elements of one depth are adjacent
// instead, a block is less deep and has more rows, so that long pieces are read.
constexpr std::int64_t kDepthOfRows = 512;
constexpr std::int64_t kDepthOfColumns = 64;

// The products of so much depth are summed up at a time, so that long sums keep their digits.
constexpr std::int64_t kDepthOfSum = 2048;

// Up to so many columns dot products are faster than turning rows round, from such a depth on.
constexpr std::int64_t kDotColumns = 18;
constexpr std::int64_t kLeastDotDepth = 64;

// So deep is a block of rows for dot products, that stays in the first-level cache.
constexpr std::int64_t kDotDepth = 512;

// The rows of A or the columns of B: the i-th has at depth l element i * step + l * depth_step. One
// of the steps is 1.
template <typename T>
struct Factor {
  const T* data;
  std::int64_t step;
  std::int64_t depth_step;

  Factor From(std::int64_t i, std::int64_t l) const {
    return {data + i * step + l * depth_step, step, depth_step};
  }
};

// C[i, j] = alpha (sum over l of A[i, l] B[l, j]) + beta C[i, j], of which C[i, j] is
// c[i * row_step + j * column_step]. One of these steps is 1, too.
template <typename T>
struct Product {
  Factor<T> a;
  Factor<T> b;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  T alpha;
  T beta;
  T* c;
  std::int64_t row_step;
  std::int64_t column_step;
};

// With at least as many rows as columns.
template <typename T>
Product<T> ToProduct(const MatrixProduct<T>& p) {
  const bool plain_a = p.transpose_a == Transpose::kNone;
  const bool plain_b = p.transpose_b == Transpose::kNone;
  const Factor<T> a{p.a, plain_a ? 1 : p.lda, plain_a ? p.lda : 1};
  const Factor<T> b{p.b, plain_b ? p.ldb : 1, plain_b ? 1 : p.ldb};
  if (p.m >= p.n) return {a, b, p.m, p.n, p.k, p.alpha, p.beta, p.c, 1, p.ldc};
  // C^T = op(B)^T op(A)^T.
  return {b, a, p.n, p.m, p.k, p.alpha, p.beta, p.c, p.ldc, 1};
}

// Some rows, or some depth, of a product.
template <typename T>
Product<T> RowsOf(Product<T> p, std::int64_t begin, std::int64_t end) {
  p.a = p.a.From(begin, 0);
  p.c += begin * p.row_step;
  p.rows = end - begin;
  return p;
}

template <typename T>
Product<T> DepthOf(Product<T> p, std::int64_t begin, std::int64_t end) {
  p.a = p.a.From(0, begin);
  p.b = p.b.From(0, begin);
  p.depth = end - begin;
  if (begin > 0) p.beta = 1;
  return p;
}

// Calls body(begin, end) for parts of at most `most`, all of nearly the same size.
template <typename Body>
void ForEachPart(std::int64_t count, std::int64_t most, const Body& body) {
  const std::int64_t parts = (count + most - 1) / most;
  for (std::int64_t i = 0; i < parts; ++i) body(count * i / parts, count * (i + 1) / parts);
}

// Copies the transpose of [rows, columns] whose columns are `ld` apart.
template <typename T>
void CopyTransposed(const T* data, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                    Rounding rounding, T* target) {
  TransposeColumns(data, ld, rows, columns, target);
  if (!rounding.has_value()) return;
  const std::int64_t count = rows * columns;
  CopyBlock(Block<T>{target, count, count, 1}, rounding, target);
}

// Copies `count` rows or columns as they are stored.
template <typename T>
Factor<T> Copied(const Factor<T>& f, std::int64_t count, std::int64_t depth, Rounding rounding,
                 T* target) {
  if (f.depth_step == 1) {
    CopyBlock(Block<T>{f.data, f.step, depth, count}, rounding, target);
    return {target, depth, 1};
  }
  CopyBlock(Block<T>{f.data, f.depth_step, count, depth}, rounding, target);
  return {target, 1, count};
}

// The same so that their elements of a depth are adjacent.
template <typename T>
Factor<T> CopiedAcross(const Factor<T>& f, std::int64_t count, std::int64_t depth,
                       Rounding rounding, T* target) {
  if (f.step == 1) return Copied(f, count, depth, rounding, target);
  CopyTransposed(f.data, f.step, depth, count, rounding, target);
  return {target, 1, count};
}

// The same so that each lies in one piece, as it may do already.
template <typename T>
Factor<T> AlongDepth(const Factor<T>& f, std::int64_t count, std::int64_t depth, Rounding rounding,
                     T* target) {
  if (f.depth_step != 1) {
    CopyTransposed(f.data, f.depth_step, count, depth, rounding, target);
    return {target, depth, 1};
  }
  return rounding.has_value() ? Copied(f, count, depth, rounding, target) : f;
}

// Memory of a thread for its blocks, null where there is none.
struct Free {
  void operator()(void* data) const { std::free(data); }
};

template <typename T>
std::unique_ptr<T[], Free> Allocate(std::int64_t count) {
  constexpr std::size_t kLine = 64;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  return std::unique_ptr<T[], Free>(
      static_cast<T*>(std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine)));
}

absl::Status NoMemoryForBlocks() {
  return OutOfMemory("The host has no memory left for the blocks of a product.");
}

// By dot products, in the calling thread. There are at most kDotColumns columns.
template <typename T>
absl::Status MultiplyDots(const Product<T>& whole, Rounding rounding) {
  constexpr std::int64_t kA = kDotRows * kDotDepth;
  constexpr std::int64_t kLanes = kDotRows * kDotLanes<T>;
  const std::int64_t most_depth = std::min(whole.depth, kBlock<T> / whole.columns);
  const auto blocks = Allocate<T>(kA + whole.columns * (kLanes + most_depth));
  if (blocks == nullptr) return NoMemoryForBlocks();
  T* const a_copy = blocks.get();
  T* const lanes = a_copy + kA;
  T* const b_copy = lanes + whole.columns * kLanes;
  ForEachPart(whole.depth, most_depth, [&](std::int64_t begin, std::int64_t end) {
    const Product<T> p = DepthOf(whole, begin, end);
    const Factor<T> b = AlongDepth(p.b, p.columns, p.depth, rounding, b_copy);
    for (std::int64_t i = 0; i < p.rows; i += kDotRows) {
      const std::int64_t rows = std::min(kDotRows, p.rows - i);
      std::fill_n(lanes, p.columns * kLanes, T{0});
      for (std::int64_t l = 0; l < p.depth; l += kDotDepth) {
        const std::int64_t depth = std::min(kDotDepth, p.depth - l);
        const Factor<T> a = AlongDepth(p.a.From(i, l), rows, depth, rounding, a_copy);
        AddDots<T>({.rows = rows,
                    .columns = p.columns,
                    .depth = depth,
                    .a = a.data,
                    .a_step = a.step,
                    .b = b.data + l,
                    .b_step = b.step},
                   lanes);
      }
      for (std::int64_t j = 0; j < p.columns; ++j) {
        T* c = p.c + i * p.row_step + j * p.column_step;
        const T* sum = lanes + j * kLanes;
        for (std::int64_t row = 0; row < rows; ++row, c += p.row_step, sum += kDotLanes<T>) {
          *c = p.alpha * SumOfLanes(sum) + (p.beta == 0 ? 0 : p.beta * *c);
        }
      }
    }
  });
  return absl::OkStatus();
}

// C = alpha sums + beta C, for sums that lie column after column.
template <typename T>
void AddToC(const T* sums, const Product<T>& p) {
  if (p.row_step == p.columns && p.alpha == 1 && p.beta == 0) {
    TransposeColumns(sums, p.rows, p.rows, p.columns, p.c);
    return;
  }
  const auto add = [&p](T sum, T& c) { c = p.alpha * sum + (p.beta == 0 ? 0 : p.beta * c); };
  if (p.row_step == 1) {
    for (std::int64_t j = 0; j < p.columns; ++j, sums += p.rows) {
      T* const c = p.c + j * p.column_step;
      for (std::int64_t i = 0; i < p.rows; ++i) add(sums[i], c[i]);
    }
    return;
  }
  for (std::int64_t i = 0; i < p.rows; ++i) {
    T* const c = p.c + i * p.row_step;
    for (std::int64_t j = 0; j < p.columns; ++j) add(sums[j * p.rows + i], c[j]);
  }
}

// C = alpha A B + beta C for copied factors and a C whose columns are `ldc` apart.
template <typename T>
void RunColumnKernel(const Factor<T>& a, const Factor<T>& b, const Product<T>& p, T* c,
                     std::int64_t ldc) {
  std::int64_t a_columns[kDepthOfRows];
  std::int64_t b_rows[kDepthOfRows];
  for (std::int64_t l = 0; l < p.depth; ++l) {
    a_columns[l] = l * a.depth_step;
    b_rows[l] = l * b.depth_step;
  }
  RunKernel<T>({.m = p.rows,
                .n = p.columns,
                .k = p.depth,
                .alpha = p.alpha,
                .a = a.data,
                .a_columns = a_columns,
                .b = b.data,
                .b_rows = b_rows,
                .b_step = b.step,
                .beta = p.beta,
                .c = c,
                .ldc = ldc});
}

// By kernels for columns of rows, in the calling thread. Columns are few, rows are not.
template <typename T>
absl::Status MultiplyColumns(const Product<T>& whole, Rounding rounding) {
  const std::int64_t sum_depth = std::min({whole.depth, kDepthOfSum, kBlock<T> / whole.columns});
  const std::int64_t block_depth =
      std::min(sum_depth, whole.a.step == 1 ? kDepthOfColumns : kDepthOfRows);
  const std::int64_t block_rows =
      std::min(whole.rows, kBlock<T> / std::max(block_depth, whole.columns));
  const auto blocks =
      Allocate<T>(block_rows * (block_depth + whole.columns) + sum_depth * whole.columns);
  if (blocks == nullptr) return NoMemoryForBlocks();
  T* const a_copy = blocks.get();
  T* const sums = a_copy + block_rows * block_depth;
  T* const b_copy = sums + block_rows * whole.columns;
  ForEachPart(whole.depth, sum_depth, [&](std::int64_t first_depth, std::int64_t last_depth) {
    const Product<T> slice = DepthOf(whole, first_depth, last_depth);
    const Factor<T> b = Copied(slice.b, slice.columns, slice.depth, rounding, b_copy);
    ForEachPart(slice.rows, block_rows, [&](std::int64_t first_row, std::int64_t last_row) {
      const Product<T> p = RowsOf(slice, first_row, last_row);
      if (p.row_step == 1 && p.depth <= block_depth) {
        const Factor<T> a = CopiedAcross(p.a, p.rows, p.depth, rounding, a_copy);
        return RunColumnKernel(a, b, p, p.c, p.column_step);
      }
      ForEachPart(p.depth, block_depth, [&](std::int64_t begin, std::int64_t end) {
        Product<T> block = DepthOf(p, begin, end);
        block.alpha = 1;
        block.beta = begin == 0 ? 0 : 1;
        const Factor<T> a = CopiedAcross(block.a, block.rows, block.depth, rounding, a_copy);
        RunColumnKernel(a, b.From(0, begin), block, sums, block.rows);
      });
      AddToC(sums, p);
    });
  });
  return absl::OkStatus();
}

template <typename T>
absl::Status MultiplyInThread(const Product<T>& p, Rounding rounding) {
  const bool is_along_depth = p.a.depth_step == 1 && p.depth >= kLeastDotDepth;
  if (p.rows < kFew || (is_along_depth && p.columns <= kDotColumns)) {
    return MultiplyDots(p, rounding);
  }
  return MultiplyColumns(p, rounding);
}

// Some rows for each thread.
template <typename T>
absl::Status MultiplyRows(const Product<T>& p, Rounding rounding, int threads) {
  return TryParallelFor(threads, p.rows, kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    return MultiplyInThread(RowsOf(p, begin, end), rounding);
  });
}

// Some depth for each thread, with a C of its own.
template <typename T>
absl::Status MultiplyAlongDepth(const Product<T>& p, Rounding rounding, int threads) {
  const std::int64_t parts = std::clamp<std::int64_t>(p.depth / kDepthPerThread, 1, threads);
  const std::int64_t count = p.rows * p.columns;
  const auto sums = Allocate<T>(parts * count);
  if (sums == nullptr) return NoMemoryForBlocks();
  ACCELD_RETURN_IF_ERROR(
      TryParallelFor(threads, parts, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          Product<T> part = DepthOf(p, p.depth * i / parts, p.depth * (i + 1) / parts);
          part.alpha = 1;
          part.beta = 0;
          part.c = sums.get() + i * count;
          part.row_step = 1;
          part.column_step = p.rows;
          ACCELD_RETURN_IF_ERROR(MultiplyInThread(part, rounding));
        }
        return absl::OkStatus();
      }));
  for (std::int64_t part = 1; part < parts; ++part) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += sums[part * count + i];
  }
  AddToC<T>(sums.get(), p);
  return absl::OkStatus();
}

template <typename T>
absl::Status MultiplyThinImpl(const MatrixProduct<T>& product, Rounding rounding, int threads) {
  const Product<T> p = ToProduct(product);
  const bool is_short = p.rows / kRowsPerThread < threads;
  if (p.rows < kFew || (is_short && p.depth >= 2 * kDepthPerThread)) {
    return MultiplyAlongDepth(p, rounding, threads);
  }
  return MultiplyRows(p, rounding, threads);
}

}  // namespace

bool IsThin(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (std::max(m, n) >= kFew) return std::min(m, n) < kFew;
  return std::min(m, n) <= kDotColumns && k >= kDepthPerThread;
}

absl::Status MultiplyThin(const MatrixProduct<float>& product, Rounding rounding, int threads) {
  return MultiplyThinImpl(product, rounding, threads);
}

absl::Status MultiplyThin(const MatrixProduct<double>& product, Rounding rounding, int threads) {
  return MultiplyThinImpl(product, rounding, threads);
}

}  // namespace acceld::cpu
