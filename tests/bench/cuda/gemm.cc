// Matrix products on the card, in TFLOP/s, against direct calls of cuBLAS.

#include <cstdint>
#include <vector>

#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "fmt/format.h"
#include "tests/bench/cuda/card.h"
#include "tests/bench/cuda/figures.h"

namespace acceld::bench {
namespace {

constexpr std::int64_t kQuickSize = 48;

std::int64_t Size(const Setting& setting, std::int64_t n) { return setting.quick ? kQuickSize : n; }

// Of `batch` products [n, n] x [n, n].
double TeraFlops(std::int64_t n, std::int64_t batch) {
  const auto size = static_cast<double>(n);
  return 2 * size * size * size * static_cast<double>(batch) * 1e-12;
}

// A product of square matrices by cuBLAS, without its arrays.
cuda::GemmCall Square(cuda::GemmType type, std::int64_t n, std::int64_t batch) {
  return {.type = type,
          .m = n,
          .n = n,
          .k = n,
          .lda = n,
          .stride_a = n * n,
          .ldb = n,
          .stride_b = n * n,
          .ldc = n,
          .stride_c = n * n,
          .batch = batch};
}

// `batch` products of [n, n] matrices, in f32 or f64.
template <typename T>
absl::StatusOr<Measurement> Gemm(const Setting& setting, std::int64_t size, std::int64_t batch) {
  const bool f64 = sizeof(T) == sizeof(double);
  const std::int64_t n = Size(setting, size);
  const std::int64_t count = batch * n * n;
  ACCELD_ASSIGN_OR_RETURN(const Card card, Card::Open());
  ComputeBackend& backend = *card.backend;
  Direct& direct = *card.direct;

  ops::BatchedGemm op{.type = f64 ? DataType::kF64 : DataType::kF32,
                      .m = n,
                      .n = n,
                      .k = n,
                      .lda = n,
                      .stride_a = n * n,
                      .ldb = n,
                      .stride_b = n * n,
                      .ldc = n,
                      .stride_c = n * n,
                      .batch = batch};
  ACCELD_ASSIGN_OR_RETURN(op.a, RandomArray<T>(backend, count));
  ACCELD_ASSIGN_OR_RETURN(op.b, RandomArray<T>(backend, count));
  ACCELD_ASSIGN_OR_RETURN(op.c, RandomArray<T>(backend, count));
  const ops::Gemm one{.type = op.type,
                      .m = n,
                      .n = n,
                      .k = n,
                      .a = op.a,
                      .lda = n,
                      .b = op.b,
                      .ldb = n,
                      .c = op.c,
                      .ldc = n};
  cuda::GemmCall call = Square(f64 ? cuda::GemmType::kF64 : cuda::GemmType::kF32, n, batch);
  ACCELD_ASSIGN_OR_RETURN(call.a, RandomArray<T>(direct, count));
  ACCELD_ASSIGN_OR_RETURN(call.b, RandomArray<T>(direct, count));
  ACCELD_ASSIGN_OR_RETURN(call.c, RandomArray<T>(direct, count));

  const double work = TeraFlops(n, batch);
  return CompareRates(
      setting,
      OnBackend(backend, work,
                [&] { return batch == 1 ? backend.Gemm(one) : backend.BatchedGemm(op); }),
      OnDirect(direct, work, [&] { return direct.Gemm(call); }));
}

// f32 that both sides round to bf16 each time: cuBLAS has no product that does, so that the direct
// side has two launches of acceld's kernel in front of it.
absl::StatusOr<Measurement> GemmBf16(const Setting& setting, std::int64_t size) {
  const std::int64_t n = Size(setting, size);
  const std::int64_t count = n * n;
  ACCELD_ASSIGN_OR_RETURN(const Card card, Card::Open());
  ComputeBackend& backend = *card.backend;
  Direct& direct = *card.direct;

  ops::GemmMixedPrecision op{
      .precision = MixedPrecision::kBf16, .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n};
  ACCELD_ASSIGN_OR_RETURN(op.a, RandomArray<float>(backend, count));
  ACCELD_ASSIGN_OR_RETURN(op.b, RandomArray<float>(backend, count));
  ACCELD_ASSIGN_OR_RETURN(op.c, RandomArray<float>(backend, count));
  const auto rounding = [&]() -> absl::StatusOr<cuda::RoundKernel> {
    ACCELD_ASSIGN_OR_RETURN(const float* const source, RandomArray<float>(direct, count));
    ACCELD_ASSIGN_OR_RETURN(
        std::byte* const target,
        direct.Allocate(static_cast<std::uint64_t>(count) * sizeof(std::uint16_t)));
    return cuda::RoundKernel(MixedPrecision::kBf16, n, n, source, n,
                             reinterpret_cast<std::uint16_t*>(target), n);
  };
  ACCELD_ASSIGN_OR_RETURN(const cuda::RoundKernel round_a, rounding());
  ACCELD_ASSIGN_OR_RETURN(const cuda::RoundKernel round_b, rounding());
  cuda::GemmCall call = Square(cuda::GemmType::kBf16, n, 1);
  call.a = round_a.target();
  call.b = round_b.target();
  ACCELD_ASSIGN_OR_RETURN(call.c, RandomArray<float>(direct, count));

  const double work = TeraFlops(n, 1);
  return CompareRates(setting,
                      OnBackend(backend, work, [&] { return backend.GemmMixedPrecision(op); }),
                      OnDirect(direct, work, [&] {
                        ACCELD_RETURN_IF_ERROR(direct.Launch(round_a));
                        ACCELD_RETURN_IF_ERROR(direct.Launch(round_b));
                        return direct.Gemm(call);
                      }));
}

}  // namespace

std::vector<Figure> CardGemmFigures() {
  std::vector<Figure> figures;
  const auto add = [&](std::string name, auto measure) {
    figures.push_back({std::move(name), "ratio", "TFLOP/s", measure});
  };
  for (const std::int64_t n : {1024, 4096, 8192}) {
    add(fmt::format("gemm_f32_{}_vs_cublas", n),
        [n](const Setting& setting) { return Gemm<float>(setting, n, 1); });
  }
  for (const std::int64_t n : {1024, 4096}) {
    add(fmt::format("gemm_f64_{}_vs_cublas", n),
        [n](const Setting& setting) { return Gemm<double>(setting, n, 1); });
  }
  for (const std::int64_t n : {4096, 8192}) {
    add(fmt::format("gemm_bf16_{}_vs_cublas", n),
        [n](const Setting& setting) { return GemmBf16(setting, n); });
  }
  add("batched_gemm_f32_64x512_vs_cublas",
      [](const Setting& setting) { return Gemm<float>(setting, 512, setting.quick ? 4 : 64); });
  return figures;
}

}  // namespace acceld::bench
