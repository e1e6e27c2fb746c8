// The time of real work through the daemon against that of the same work in process, both on all
// cores.

#include "backends/core/status.h"
#include "backends/cpu/cpu_device.h"
#include "backends/local/local_backend.h"
#include "client/examples/digits.h"
#include "client/examples/trainer.h"
#include "tests/bench/figures.h"
#include "tests/bench/harness/client.h"
#include "tests/bench/harness/clock.h"

namespace acceld::bench {
namespace {

constexpr std::int64_t kSide = 1000;

// One product of two 1000 x 1000 matrices, and Synchronize.
class Product {
 public:
  static absl::StatusOr<Product> Create(ComputeBackend& backend) {
    const std::vector<double> values(kSide * kSide, 0.5);
    const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()),
                                           values.size() * sizeof(double));
    ops::Gemm gemm = {.type = DataType::kF64,
                      .m = kSide,
                      .n = kSide,
                      .k = kSide,
                      .lda = kSide,
                      .ldb = kSide,
                      .ldc = kSide};
    for (Address* matrix : {&gemm.a, &gemm.b, &gemm.c}) {
      ACCELD_ASSIGN_OR_RETURN(*matrix, backend.Alloc(bytes.size()));
      ACCELD_RETURN_IF_ERROR(backend.CopyHtoD(*matrix, bytes));
    }
    return Product(backend, gemm);
  }

  absl::StatusOr<double> Microseconds() {
    return MeanMicroseconds(1, [this] {
      ACCELD_RETURN_IF_ERROR(backend_.Gemm(gemm_));
      return backend_.Synchronize();
    });
  }

 private:
  Product(ComputeBackend& backend, const ops::Gemm& gemm) : backend_(backend), gemm_(gemm) {}

  ComputeBackend& backend_;
  const ops::Gemm gemm_;
};

// A product over shared memory against one in process.
absl::StatusOr<Measurement> Gemm(const Setting& setting) {
  const auto daemon = StartDaemon();
  ACCELD_ASSIGN_OR_RETURN(const auto remote, Open(*daemon, Route::kShm));
  LocalBackend local(MakeCpuDevice());
  ACCELD_RETURN_IF_ERROR(local.Init());
  ACCELD_ASSIGN_OR_RETURN(Product above, Product::Create(*remote));
  ACCELD_ASSIGN_OR_RETURN(Product below, Product::Create(local));
  return MeasurePairs(
      setting.Rounds(61), [&] { return above.Microseconds(); },
      [&] { return below.Microseconds(); });
}

// An epoch of the training of client/examples/train_digits over shared memory against one in
// process; some 1,800 ops each.
absl::StatusOr<Measurement> TrainDigits(const Setting& setting) {
  const auto daemon = StartDaemon();
  ACCELD_ASSIGN_OR_RETURN(const auto remote, Open(*daemon, Route::kShm));
  LocalBackend local(MakeCpuDevice());
  ACCELD_RETURN_IF_ERROR(local.Init());
  ACCELD_ASSIGN_OR_RETURN(const examples::Digits digits, examples::LoadDigits());
  ACCELD_ASSIGN_OR_RETURN(examples::Trainer above, examples::Trainer::Create(*remote, digits));
  ACCELD_ASSIGN_OR_RETURN(examples::Trainer below, examples::Trainer::Create(local, digits));
  return MeasurePairs(
      setting.Rounds(21),
      [&] { return MeanMicroseconds(1, [&] { return above.RunEpoch().status(); }); },
      [&] { return MeanMicroseconds(1, [&] { return below.RunEpoch().status(); }); });
}

}  // namespace

std::vector<Figure> WorkFigures() {
  return {{"gemm_f64_1000_remote_vs_local", "ratio", "us", Gemm},
          {"train_digits_remote_vs_local", "ratio", "us", TrainDigits}};
}

}  // namespace acceld::bench
