// Attention against its two matrix products, of full size also where it is causal.

#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>

#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/core/status.h"
#include "backends/cpu/parallel.h"
#include "tests/bench/cpu/in_process.h"
#include "tests/bench/figures.h"

namespace acceld::bench {
namespace {

constexpr int kHeads = 8;
constexpr int kSequence = 1024;
constexpr int kHeadDim = 64;
constexpr std::int64_t kCount = std::int64_t{kHeads} * kSequence * kHeadDim;
const float kScale = 1 / std::sqrt(static_cast<float>(kHeadDim));

// A head's products: scores = scale q k^T, output = scores v; row-major.
using Products = void (*)(const float* q, const float* k, const float* v, float* scores,
                          float* output);

void ByOpenBlas(const float* q, const float* k, const float* v, float* scores, float* output) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kSequence, kSequence, kHeadDim, kScale, q,
              kHeadDim, k, kHeadDim, 0, scores, kSequence);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSequence, kHeadDim, kSequence, 1, scores,
              kSequence, v, kHeadDim, 0, output, kHeadDim);
}

void ByOneDnn(const float* q, const float* k, const float* v, float* scores, float* output) {
  dnnl_sgemm('N', 'T', kSequence, kSequence, kHeadDim, kScale, q, kHeadDim, k, kHeadDim, 0, scores,
             kSequence);
  dnnl_sgemm('N', 'N', kSequence, kHeadDim, kSequence, 1, scores, kSequence, v, kHeadDim, 0, output,
             kHeadDim);
}

struct Arrays {
  HostArray<float> q = RandomArray<float>(kCount);
  HostArray<float> k = RandomArray<float>(kCount);
  HostArray<float> v = RandomArray<float>(kCount);
  // Of each head: it may be that all are computed at once.
  HostArray<float> scores{std::int64_t{kHeads} * kSequence * kSequence};
  HostArray<float> output{kCount};
};

// Each head by itself, by `threads` threads together.
Call HeadByHead(Arrays& arrays, Products products) {
  return [&arrays, products] {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      const std::int64_t first = head * kSequence * kHeadDim;
      products(arrays.q.data() + first, arrays.k.data() + first, arrays.v.data() + first,
               arrays.scores.data(), arrays.output.data() + first);
    }
    return absl::OkStatus();
  };
}

// Each thread has heads of its own, and one array for their scores.
Call HeadsInParallel(Arrays& arrays, Products products, int threads) {
  return [&arrays, products, threads] {
    ParallelFor(threads, kHeads, /*grain=*/1, [&](std::int64_t begin, std::int64_t end) {
      const ScopedOpenMpThreads one_thread(1);
      for (std::int64_t head = begin; head < end; ++head) {
        const std::int64_t first = head * kSequence * kHeadDim;
        products(arrays.q.data() + first, arrays.k.data() + first, arrays.v.data() + first,
                 arrays.scores.data() + begin * kSequence * kSequence,
                 arrays.output.data() + first);
      }
    });
    return absl::OkStatus();
  };
}

// All heads as one batch of oneDNN's matmul.
Call Batch(Arrays& arrays) {
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto matrices = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    const memory::dims strides = transposed ? memory::dims{rows * columns, 1, rows}
                                            : memory::dims{rows * columns, columns, 1};
    return memory::desc({kHeads, rows, columns}, memory::data_type::f32, strides);
  };
  const auto matmul = [&](HostArray<float>& a, const memory::desc& a_desc, HostArray<float>& b,
                          const memory::desc& b_desc, HostArray<float>& c,
                          const memory::desc& c_desc, float scale) {
    dnnl::primitive_attr attributes;
    if (scale != 1) attributes.set_output_scales(0, {scale});
    const dnnl::matmul primitive({{a_desc, b_desc, c_desc}, attributes, engine});
    return [primitive, stream = dnnl::stream(engine), a = memory(a_desc, engine, a.data()),
            b = memory(b_desc, engine, b.data()), c = memory(c_desc, engine, c.data())] {
      primitive.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    };
  };
  const memory::desc rows = matrices(kSequence, kHeadDim, /*transposed=*/false);
  const memory::desc scores = matrices(kSequence, kSequence, /*transposed=*/false);
  const auto first = matmul(arrays.q, rows, arrays.k, matrices(kHeadDim, kSequence, true),
                            arrays.scores, scores, kScale);
  const auto second = matmul(arrays.scores, scores, arrays.v, rows, arrays.output, rows, 1);
  return [first, second] {
    first();
    second();
    return absl::OkStatus();
  };
}

absl::StatusOr<Measurement> Attention(const Setting& setting, int threads, bool causal) {
  ACCELD_ASSIGN_OR_RETURN(const auto device, InProcess::Create(threads));
  Arrays arrays;
  ops::Attention op = {.batch = 1,
                       .heads = kHeads,
                       .seq_q = kSequence,
                       .seq_kv = kSequence,
                       .head_dim = kHeadDim,
                       .scale = kScale,
                       .causal = causal};
  ACCELD_ASSIGN_OR_RETURN(op.q, device->Upload(arrays.q));
  ACCELD_ASSIGN_OR_RETURN(op.k, device->Upload(arrays.k));
  ACCELD_ASSIGN_OR_RETURN(op.v, device->Upload(arrays.v));
  ACCELD_ASSIGN_OR_RETURN(op.output, device->Upload(arrays.output));

  const ScopedOpenMpThreads openmp(threads);
  std::vector<Call> direct = {HeadByHead(arrays, ByOpenBlas), HeadByHead(arrays, ByOneDnn),
                              Batch(arrays)};
  if (threads > 1) {
    direct.push_back(HeadsInParallel(arrays, ByOpenBlas, threads));
    direct.push_back(HeadsInParallel(arrays, ByOneDnn, threads));
  }
  return MeasureAgainst(
      setting, threads, *device, [&] { return device->backend().Attention(op); }, direct);
}

}  // namespace

std::vector<Figure> AttentionFigures() {
  std::vector<Figure> figures;
  for (const bool causal : {false, true}) {
    for (Figure& figure : AtOneAndTwoThreads(causal ? "attention_causal_f32_b1h8s1024d64_vs_gemms"
                                                    : "attention_f32_b1h8s1024d64_vs_gemms",
                                             [causal](const Setting&setting, int threads) {
                                               return Attention(setting, threads, causal);
                                             })) {
      figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace acceld::bench
