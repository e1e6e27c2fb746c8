// Matrix products on the cpu device, against direct calls of the fastest library for the shape.

#include <cblas.h>

#include <dnnl.hpp>
#include <unordered_map>

#include "backends/core/status.h"
#include "backends/cpu/parallel.h"
#include "fmt/format.h"
#include "tests/bench/cpu/in_process.h"
#include "tests/bench/figures.h"

namespace acceld::bench {
namespace {

constexpr std::int64_t kBatch = 512;
constexpr std::int64_t kBatchedSize = 32;
constexpr std::int64_t kMixedPrecisionSize = 1024;

template <typename T>
constexpr DataType kTypeOf = sizeof(T) == sizeof(double) ? DataType::kF64 : DataType::kF32;

// `count` products of square matrices, [n, n] x [n, n] -> [n, n], one behind the other: in host
// memory for direct calls, and the same on a device.
template <typename T>
class Products {
 public:
  static absl::StatusOr<std::unique_ptr<Products>> Create(int threads, std::int64_t n,
                                                          std::int64_t count = 1) {
    auto products = std::unique_ptr<Products>(new Products(n, count));
    ACCELD_ASSIGN_OR_RETURN(products->device_, InProcess::Create(threads));
    InProcess& device = *products->device_;
    ACCELD_ASSIGN_OR_RETURN(products->device_a_, device.Upload(products->a_));
    ACCELD_ASSIGN_OR_RETURN(products->device_b_, device.Upload(products->b_));
    ACCELD_ASSIGN_OR_RETURN(products->device_c_, device.Upload(products->c_));
    return products;
  }

  InProcess& device() { return *device_; }
  std::int64_t n() const { return n_; }
  std::int64_t count() const { return count_; }
  const T* a(std::int64_t i) const { return a_.data() + i * n_ * n_; }
  const T* b(std::int64_t i) const { return b_.data() + i * n_ * n_; }
  T* c(std::int64_t i) { return c_.data() + i * n_ * n_; }

  ops::BatchedGemm Batched() const {
    return {.type = kTypeOf<T>,
            .m = n_,
            .n = n_,
            .k = n_,
            .a = device_a_,
            .lda = n_,
            .stride_a = n_ * n_,
            .b = device_b_,
            .ldb = n_,
            .stride_b = n_ * n_,
            .c = device_c_,
            .ldc = n_,
            .stride_c = n_ * n_,
            .batch = count_};
  }

  ops::Gemm First() const {
    return {.type = kTypeOf<T>,
            .m = n_,
            .n = n_,
            .k = n_,
            .a = device_a_,
            .lda = n_,
            .b = device_b_,
            .ldb = n_,
            .c = device_c_,
            .ldc = n_};
  }

  ops::GemmMixedPrecision FirstInBf16() const {
    return {.precision = MixedPrecision::kBf16,
            .m = n_,
            .n = n_,
            .k = n_,
            .a = device_a_,
            .lda = n_,
            .b = device_b_,
            .ldb = n_,
            .c = device_c_,
            .ldc = n_};
  }

 private:
  Products(std::int64_t n, std::int64_t count)
      : n_(n),
        count_(count),
        a_(RandomArray<T>(count * n * n)),
        b_(RandomArray<T>(count * n * n)),
        c_(count * n * n) {}

  const std::int64_t n_;
  const std::int64_t count_;
  const HostArray<T> a_;
  const HostArray<T> b_;
  HostArray<T> c_;
  std::unique_ptr<InProcess> device_;
  Address device_a_ = 0;
  Address device_b_ = 0;
  Address device_c_ = 0;
};

void CallOpenBlas(Products<double>& products, std::int64_t i) {
  const int n = static_cast<int>(products.n());
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, products.a(i), n,
              products.b(i), n, 0, products.c(i), n);
}

void CallOpenBlas(Products<float>& products, std::int64_t i) {
  const int n = static_cast<int>(products.n());
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, products.a(i), n,
              products.b(i), n, 0, products.c(i), n);
}

// oneDNN's matrices are row-major: C^T = B^T A^T.
void CallOneDnnGemm(Products<float>& products, std::int64_t i) {
  const std::int64_t n = products.n();
  dnnl_sgemm('N', 'N', n, n, n, 1, products.b(i), n, products.a(i), n, 0, products.c(i), n);
}

// oneDNN's matmul on each of the products, made beforehand.
class OneDnnMatmuls {
 public:
  explicit OneDnnMatmuls(Products<float>& products)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const dnnl::memory::desc matrix({products.n(), products.n()}, dnnl::memory::data_type::f32,
                                    dnnl::memory::format_tag::ab);
    matmul_ = dnnl::matmul({{matrix, matrix, matrix}, engine_});
    for (std::int64_t i = 0; i < products.count(); ++i) {
      arguments_.push_back(
          {{DNNL_ARG_SRC, {matrix, engine_, const_cast<float*>(products.b(i))}},
           {DNNL_ARG_WEIGHTS, {matrix, engine_, const_cast<float*>(products.a(i))}},
           {DNNL_ARG_DST, {matrix, engine_, products.c(i)}}});
    }
  }

  void operator()() {
    for (const auto& arguments : arguments_) matmul_.execute(stream_, arguments);
  }

 private:
  const dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul matmul_;
  std::vector<std::unordered_map<int, dnnl::memory>> arguments_;
};

// Calls `run` for each of the products.
template <typename T, typename Run>
Call Loop(Products<T>& products, Run run) {
  return [&products, run] {
    for (std::int64_t i = 0; i < products.count(); ++i) run(products, i);
    return absl::OkStatus();
  };
}

std::vector<Call> DirectCalls(Products<double>& products) {
  return {Loop(products, [](auto& all, std::int64_t i) { CallOpenBlas(all, i); })};
}

std::vector<Call> DirectCalls(Products<float>& products) {
  return {Loop(products, [](auto& all, std::int64_t i) { CallOpenBlas(all, i); }),
          Loop(products, CallOneDnnGemm), [matmuls = std::make_shared<OneDnnMatmuls>(products)] {
            (*matmuls)();
            return absl::OkStatus();
          }};
}

template <typename T>
std::vector<Figure> GemmOfSize(std::int64_t n) {
  const auto measure = [n](const Setting& setting, int threads) -> absl::StatusOr<Measurement> {
    // Primitives are made for as many threads as run them.
    const ScopedOpenMpThreads openmp(threads);
    ACCELD_ASSIGN_OR_RETURN(const auto products, Products<T>::Create(threads, n));
    InProcess& device = products->device();
    return MeasureAgainst(
        setting, threads, device, [&, op = products->First()] { return device.backend().Gemm(op); },
        DirectCalls(*products));
  };
  return AtOneAndTwoThreads(fmt::format("gemm_{}_{}_vs_best", Name(kTypeOf<T>), n), measure);
}

// 512 products of 32 x 32.
absl::StatusOr<Measurement> BatchedGemm(const Setting& setting, int threads) {
  const ScopedOpenMpThreads openmp(threads);
  ACCELD_ASSIGN_OR_RETURN(const auto products,
                          Products<float>::Create(threads, kBatchedSize, kBatch));
  InProcess& device = products->device();
  return MeasureAgainst(
      setting, threads, device,
      [&, op = products->Batched()] { return device.backend().BatchedGemm(op); },
      DirectCalls(*products));
}

// Against the same product in f32, also on the device.
absl::StatusOr<Measurement> GemmBf16(const Setting& setting, int threads) {
  ACCELD_ASSIGN_OR_RETURN(const auto products,
                          Products<float>::Create(threads, kMixedPrecisionSize));
  InProcess& device = products->device();
  const Call in_bf16 = [&, op = products->FirstInBf16()] {
    return device.backend().GemmMixedPrecision(op);
  };
  const Call in_f32 = [&, op = products->First()] {
    ACCELD_RETURN_IF_ERROR(device.backend().Gemm(op));
    return device.backend().Synchronize();
  };
  return MeasureAgainst(setting, threads, device, in_bf16, {in_f32});
}

}  // namespace

std::vector<Figure> GemmFigures() {
  std::vector<Figure> figures;
  for (const std::int64_t n : {64, 256, 1024}) {
    for (const auto& sizes : {GemmOfSize<double>(n), GemmOfSize<float>(n)}) {
      figures.insert(figures.end(), sizes.begin(), sizes.end());
    }
  }
  for (const auto& others : {AtOneAndTwoThreads("gemm_bf16_1024_vs_f32", GemmBf16),
                             AtOneAndTwoThreads("batched_gemm_f32_32x512_vs_loop", BatchedGemm)}) {
    figures.insert(figures.end(), others.begin(), others.end());
  }
  return figures;
}

}  // namespace acceld::bench
