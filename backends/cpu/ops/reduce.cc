// The array is [outer, length, inner], folded over length. Sums are in double, so that they lose no
// digits however long they are.
//
// A task folds one segment of the length for one chunk of adjacent outputs, several rows at once.
// Where there are few outputs the length is cut into several segments, whose results are folded in
// order: cut by the shape alone. Short lengths, and many small parts of an outer dimension, have
// loops of their own.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "backends/cpu/byte_ranges.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/multiversion.h"
#include "backends/cpu/ops/fold.h"
#include "backends/cpu/ops/pointers.h"
#include "backends/cpu/ops/streaming_store.h"
#include "backends/cpu/ops/vector_math.h"
#include "backends/cpu/parallel.h"

namespace acceld::cpu {
namespace {

// Accumulators of a task, 32 KiB: they stay in the second-level cache, and rows are read in pieces
// long enough for the memory.
constexpr std::int64_t kChunk = 4096;
// Rows narrower than this are taken together as one of about kGroup elements.
constexpr std::int64_t kNarrow = 64;
constexpr std::int64_t kGroup = 512;
// With at least this many tasks the length is not cut.
constexpr std::int64_t kEnoughTasks = 128;
// Segments have at least this many elements, and so many rows that their results are few beside
// them.
constexpr std::int64_t kSegmentElements = 16 * 1024;
constexpr std::int64_t kSegmentRows = 128;
// Lengths up to this have no accumulators.
constexpr std::int64_t kShortest = 2;
constexpr std::int64_t kLongestShort = 8;
// An outer part of fewer elements than this is small.
constexpr std::int64_t kSmallPart = 512;
// Less is not worth a thread, in elements.
constexpr std::int64_t kElementsPerThread = 16 * 1024;

constexpr std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Add {
  using Value = double;
  static constexpr Value kStart = -0.0;
  ACCELD_INLINE static Value Of(Value a, Value b) { return a + b; }
};
struct TakeLargest {
  using Value = float;
  static constexpr Value kStart = std::numeric_limits<Value>::quiet_NaN();
  ACCELD_INLINE static Value Of(Value a, Value b) { return Max(a, b); }
};
struct TakeSmallest {
  using Value = float;
  static constexpr Value kStart = std::numeric_limits<Value>::quiet_NaN();
  ACCELD_INLINE static Value Of(Value a, Value b) { return Min(a, b); }
};

// A result as it is written.
template <typename Value>
ACCELD_INLINE float Scaled(Value result, double scale) {
  return static_cast<float>(static_cast<double>(result) * scale);
}

// Fetches what loops over the columns of kRows rows, which are at column i, read next: farther on
// in these rows or in as many behind them. The processor does not guess that many sequences at
// once. Early enough for the memory to answer; into a cache where rows that are a power of 2 apart
// do not displace each other.
template <std::int64_t kRows>
ACCELD_INLINE void FetchColumns(const float* rows, std::int64_t pitch, std::int64_t width,
                                std::int64_t i) {
  const std::int64_t ahead = i + std::min<std::int64_t>(32 * kLine, width);
  const float* const next = ahead < width ? rows + ahead : rows + kRows * pitch + ahead - width;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t j = 0; j < kBlock; j += kLine) FetchLine(next + row * pitch + j);
  }
}

// Folds kRows rows into the accumulators.
template <typename Fold, std::int64_t kRows>
ACCELD_MULTIVERSION void FoldRows(typename Fold::Value* accumulators, const float* rows,
                                  std::int64_t pitch, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + kBlock <= width; i += kBlock) {
    FetchColumns<kRows>(rows, pitch, width, i);
    typename Fold::Value folded[kBlock];
    std::copy(accumulators + i, accumulators + i + kBlock, folded);
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t j = 0; j < kBlock; ++j) {
        folded[j] = Fold::Of(folded[j], rows[row * pitch + i + j]);
      }
    }
    std::copy(folded, folded + kBlock, accumulators + i);
  }
  for (std::int64_t row = 0; row < kRows; ++row) {
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t j = i; j < width; ++j) {
      accumulators[j] = Fold::Of(accumulators[j], rows[row * pitch + j]);
    }
  }
}

// Folds any number of rows into the accumulators.
template <typename Fold>
void FoldAllRows(typename Fold::Value* accumulators, const float* rows, std::int64_t count,
                 std::int64_t pitch, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    FoldRows<Fold, 8>(accumulators, rows + i * pitch, pitch, width);
  }
  if (i + 4 <= count) {
    FoldRows<Fold, 4>(accumulators, rows + i * pitch, pitch, width);
    i += 4;
  }
  if (i + 2 <= count) {
    FoldRows<Fold, 2>(accumulators, rows + i * pitch, pitch, width);
    i += 2;
  }
  if (i < count) {
    FoldRows<Fold, 1>(accumulators, rows + i * pitch, pitch, width);
  }
}

// results[i] folded with others[i].
template <typename Fold>
ACCELD_MULTIVERSION void FoldResults(typename Fold::Value* results,
                                     const typename Fold::Value* others, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) results[i] = Fold::Of(results[i], others[i]);
}

// Folds rows of `width` adjacent elements each, of which several make a row of a group.
template <typename Fold>
void FoldNarrowRows(typename Fold::Value* accumulators, const float* rows, std::int64_t count,
                    std::int64_t width) {
  std::int64_t group = kGroup / width;
  std::fill(accumulators + width, accumulators + group * width, Fold::kStart);
  const std::int64_t rest = count % group;
  FoldAllRows<Fold>(accumulators, rows, count / group, group * width, group * width);
  FoldAllRows<Fold>(accumulators, rows + (count - rest) * width, 1, 0, rest * width);
  for (; group > 1; group -= group / 2) {
    FoldResults<Fold>(accumulators, accumulators + (group - group / 2) * width, group / 2 * width);
  }
}

template <typename Value>
ACCELD_MULTIVERSION void Finish(const Value* results, double scale, float* output, std::int64_t n) {
  ACCELD_INDEPENDENT_ELEMENTS
  for (std::int64_t i = 0; i < n; ++i) output[i] = Scaled(results[i], scale);
}

// Small parts of adjacent elements, [outer, length].
template <typename Fold>
ACCELD_MULTIVERSION void FoldSmallRows(const float* x, std::int64_t outer, std::int64_t length,
                                       double scale, float* output) {
  using Value = typename Fold::Value;
  constexpr std::int64_t kLanes = 8;
  for (std::int64_t row = 0; row < outer; ++row, x += length) {
    Value lanes[kLanes];
    Value result = Fold::kStart;
    std::int64_t i = 0;
    if (length >= kLanes) {
      for (; i < kLanes; ++i) lanes[i] = x[i];
      for (; i + kLanes <= length; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          lanes[lane] = Fold::Of(lanes[lane], Value{x[i + lane]});
        }
      }
      result = Fold::Of(Fold::Of(Fold::Of(lanes[0], lanes[1]), Fold::Of(lanes[2], lanes[3])),
                        Fold::Of(Fold::Of(lanes[4], lanes[5]), Fold::Of(lanes[6], lanes[7])));
    }
    for (; i < length; ++i) result = Fold::Of(result, Value{x[i]});
    output[row] = Scaled(result, scale);
  }
}

// Small parts, [outer, length, inner].
template <typename Fold>
ACCELD_MULTIVERSION void FoldSmallParts(const float* x, std::int64_t outer, std::int64_t length,
                                        std::int64_t inner, double scale, float* output) {
  using Value = typename Fold::Value;
  for (std::int64_t part = 0; part < outer; ++part, x += length * inner, output += inner) {
    for (std::int64_t i = 0; i < inner; ++i) {
      Value result = x[i];
      for (std::int64_t j = 1; j < length; ++j) {
        result = Fold::Of(result, Value{x[j * inner + i]});
      }
      output[i] = Scaled(result, scale);
    }
  }
}

// Folds one column of kLength elements.
template <typename Fold, std::int64_t kLength>
ACCELD_INLINE typename Fold::Value FoldShortColumn(const float* x, std::int64_t pitch) {
  if constexpr (kLength == 1) {
    return *x;
  } else {
    return Fold::Of(FoldShortColumn<Fold, kLength - 1>(x, pitch),
                    typename Fold::Value{x[(kLength - 1) * pitch]});
  }
}

// The first `width` columns of `outer` parts [kLength, inner].
template <typename Fold, std::int64_t kLength>
ACCELD_MULTIVERSION void FoldShortParts(const float* x, std::int64_t outer, std::int64_t inner,
                                        std::int64_t width, double scale, float* output) {
  if (inner == 1) {
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t i = 0; i < outer; ++i) {
      output[i] = Scaled(FoldShortColumn<Fold, kLength>(x + i * kLength, 1), scale);
    }
    return;
  }
  for (std::int64_t part = 0; part < outer; ++part, x += kLength * inner, output += inner) {
    const std::int64_t blocks_end = width / kBlock * kBlock;
    for (std::int64_t i = 0; i < blocks_end; i += kBlock) {
      FetchColumns<kLength>(x, inner, width, i);
      float folded[kBlock];
      for (std::int64_t j = 0; j < kBlock; ++j) {
        folded[j] = Scaled(FoldShortColumn<Fold, kLength>(x + i + j, inner), scale);
      }
      std::copy(folded, folded + kBlock, output + i);
    }
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t i = blocks_end; i < width; ++i) {
      output[i] = Scaled(FoldShortColumn<Fold, kLength>(x + i, inner), scale);
    }
  }
}

// The same of parts that are narrow, so that a loop over a part's columns is short.
template <typename Fold, std::int64_t kLength>
ACCELD_MULTIVERSION void FoldShortNarrowParts(const float* x, std::int64_t outer,
                                              std::int64_t inner, std::int64_t /*width*/,
                                              double scale, float* output) {
  for (std::int64_t part = 0; part < outer; ++part, x += kLength * inner, output += inner) {
    ACCELD_INDEPENDENT_ELEMENTS
    for (std::int64_t i = 0; i < inner; ++i) {
      output[i] = Scaled(FoldShortColumn<Fold, kLength>(x + i, inner), scale);
    }
  }
}

using ShortLoop = void (*)(const float* x, std::int64_t outer, std::int64_t inner,
                           std::int64_t width, double scale, float* output);

template <typename Fold, std::size_t... kOffsets>
ShortLoop ShortLoopFor(std::int64_t length, std::int64_t inner,
                       std::index_sequence<kOffsets...> /*all*/) {
  using Loops = std::array<ShortLoop, sizeof...(kOffsets)>;
  constexpr Loops kLoops = {
      FoldShortParts<Fold, kShortest + static_cast<std::int64_t>(kOffsets)>...};
  constexpr Loops kNarrowLoops = {
      FoldShortNarrowParts<Fold, kShortest + static_cast<std::int64_t>(kOffsets)>...};
  const Loops& loops = 1 < inner && inner < kNarrow ? kNarrowLoops : kLoops;
  return loops[static_cast<std::size_t>(length - kShortest)];
}

struct Cut {
  std::int64_t outer;
  std::int64_t length;
  std::int64_t inner;
  std::int64_t chunks;
  std::int64_t width;
  std::int64_t segments;
  std::int64_t rows_per_segment;
};

Cut CutByShape(const Shape& shape, std::size_t axis) {
  Cut cut{};
  cut.outer = shape.Product(0, axis);
  cut.length = shape[axis];
  cut.inner = shape.Product(axis + 1, shape.rank());
  cut.chunks = CeilDivide(cut.inner, kChunk);
  cut.width = CeilDivide(cut.inner, cut.chunks);
  const std::int64_t most = std::max<std::int64_t>(1, kEnoughTasks / (cut.outer * cut.chunks));
  cut.rows_per_segment =
      std::max({kSegmentRows, kSegmentElements / cut.width, CeilDivide(cut.length, most)});
  cut.segments = CeilDivide(cut.length, cut.rows_per_segment);
  return cut;
}

// The reductions that differ in `Fold`. `adjacent` folds adjacent elements.
template <typename Fold>
class Reduction {
 public:
  using Value = typename Fold::Value;
  using Adjacent = Value (*)(const float* x, std::int64_t n);

  Reduction(const ops::Reduce& op, Adjacent adjacent)
      : cut_(CutByShape(op.shape, static_cast<std::size_t>(op.axis))),
        adjacent_(adjacent),
        input_(Pointer<const float>(op.input)),
        output_(Pointer<float>(op.output)),
        scale_(op.op == ReduceOp::kMean ? 1 / static_cast<double>(cut_.length) : 1) {}

  absl::Status Run(CpuContext& context) {
    if (cut_.length <= kLongestShort) {
      RunShortLengths(context.threads());
      return absl::OkStatus();
    }
    if (cut_.length * cut_.inner < kSmallPart) {
      RunSmallParts(context.threads());
      return absl::OkStatus();
    }
    const std::int64_t outputs = cut_.outer * cut_.inner;
    if (cut_.segments > 1) {
      ACCELD_ASSIGN_OR_RETURN(partial_, context.Elements<Value>(cut_.segments * outputs));
    }
    ParallelFor(
        context.threads(), cut_.outer * cut_.chunks * cut_.segments,
        std::max<std::int64_t>(1, kElementsPerThread / (cut_.rows_per_segment * cut_.width)),
        [this](std::int64_t begin, std::int64_t end) {
          for (std::int64_t task = begin; task < end; ++task) RunTask(task);
        });
    if (partial_ == nullptr) return absl::OkStatus();
    ParallelFor(context.threads(), outputs, CeilDivide(kElementsPerThread, cut_.segments),
                [this, outputs](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t segment = 1; segment < cut_.segments; ++segment) {
                    FoldResults<Fold>(partial_ + begin, partial_ + segment * outputs + begin,
                                      end - begin);
                  }
                  Finish(partial_ + begin, scale_, output_ + begin, end - begin);
                });
    return absl::OkStatus();
  }

 private:
  void RunShortLengths(int threads) const {
    const ShortLoop loop = ShortLoopFor<Fold>(
        cut_.length, cut_.inner, std::make_index_sequence<kLongestShort - kShortest + 1>());
    const std::int64_t part = cut_.length * cut_.inner;
    ParallelFor(threads, cut_.outer * cut_.chunks,
                CeilDivide(kElementsPerThread, cut_.length * cut_.width),
                [this, loop, part](std::int64_t begin, std::int64_t end) {
                  if (cut_.chunks == 1) {
                    return loop(input_ + begin * part, end - begin, cut_.inner, cut_.inner, scale_,
                                output_ + begin * cut_.inner);
                  }
                  for (std::int64_t task = begin; task < end; ++task) {
                    const std::int64_t outer = task / cut_.chunks;
                    const std::int64_t column = task % cut_.chunks * cut_.width;
                    loop(input_ + outer * part + column, 1, cut_.inner,
                         std::min(cut_.width, cut_.inner - column), scale_,
                         output_ + outer * cut_.inner + column);
                  }
                });
  }

  void RunSmallParts(int threads) const {
    const std::int64_t part = cut_.length * cut_.inner;
    ParallelFor(threads, cut_.outer, CeilDivide(kElementsPerThread, part),
                [this, part](std::int64_t begin, std::int64_t end) {
                  const float* x = input_ + begin * part;
                  float* output = output_ + begin * cut_.inner;
                  if (cut_.inner == 1) {
                    FoldSmallRows<Fold>(x, end - begin, cut_.length, scale_, output);
                  } else {
                    FoldSmallParts<Fold>(x, end - begin, cut_.length, cut_.inner, scale_, output);
                  }
                });
  }

  void RunTask(std::int64_t task) const {
    const std::int64_t segment = task % cut_.segments;
    const std::int64_t chunk = task / cut_.segments % cut_.chunks;
    const std::int64_t outer = task / cut_.segments / cut_.chunks;
    const std::int64_t first_row = segment * cut_.rows_per_segment;
    const std::int64_t rows = std::min(cut_.rows_per_segment, cut_.length - first_row);
    const std::int64_t column = chunk * cut_.width;
    const std::int64_t width = std::min(cut_.width, cut_.inner - column);
    const float* row = input_ + (outer * cut_.length + first_row) * cut_.inner + column;

    alignas(64) Value accumulators[kChunk];
    std::fill(accumulators, accumulators + width, Fold::kStart);
    if (cut_.inner == 1) {
      accumulators[0] = adjacent_(row, rows);
    } else if (cut_.inner < kNarrow) {
      FoldNarrowRows<Fold>(accumulators, row, rows, width);
    } else {
      FoldAllRows<Fold>(accumulators, row, rows, cut_.inner, width);
    }
    const std::int64_t first_output = outer * cut_.inner + column;
    if (partial_ != nullptr) {
      std::copy(accumulators, accumulators + width,
                partial_ + segment * cut_.outer * cut_.inner + first_output);
    } else {
      Finish(accumulators, scale_, output_ + first_output, width);
    }
  }

  const Cut cut_;
  const Adjacent adjacent_;
  const float* const input_;
  float* const output_;
  const double scale_;
  // [segments, outer, inner] where the length is cut, at most kEnoughTasks * kChunk elements.
  Value* partial_ = nullptr;
};

}  // namespace

absl::Status Run(const ops::Reduce& op, CpuContext& context) {
  const std::int64_t outputs = op.OutputCount();
  if (outputs == 0) return absl::OkStatus();
  if (op.shape[static_cast<std::size_t>(op.axis)] == 1) {
    const auto copy = IsStreamed(outputs) ? StreamBytes : CopyBytes;
    copy(Pointer<std::byte>(op.output), Pointer<const std::byte>(op.input),
         static_cast<std::uint64_t>(outputs) * sizeof(float), context.threads());
    return absl::OkStatus();
  }
  switch (op.op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return Reduction<Add>(op, Sum).Run(context);
    case ReduceOp::kMax:
      return Reduction<TakeLargest>(op, Largest).Run(context);
    case ReduceOp::kMin:
      break;
  }
  return Reduction<TakeSmallest>(op, Smallest).Run(context);
}

}  // namespace acceld::cpu
