#include "server/self_check.h"

#include <cmath>
#include <memory>
#include <vector>

#include "backends/context/device_context.h"
#include "backends/core/status.h"
#include "backends/core/waiter.h"
#include "backends/reference/reference.h"
#include "fmt/format.h"

namespace acceld {
namespace {

// Odd, so that the kernels' edges are used as well; one for the kernels of small products, one for
// those of others.
constexpr std::int64_t kSizes[] = {61, 131};

template <typename T>
constexpr double kTolerance = 1e-4;
template <>
constexpr double kTolerance<double> = 1e-12;

using StatusWaiter = Waiter<absl::Status>;

// Runs `op` on `device`, with `arrays` as its a, b and c; c is read back.
template <typename T>
absl::Status RunOnDevice(Device& device, ops::Gemm op, std::vector<std::vector<T>>& arrays) {
  std::shared_ptr<WorkSink> sink(std::shared_ptr<void>(), &device);
  ACCELD_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(device, std::move(sink)));
  Address* const addresses[] = {&op.a, &op.b, &op.c};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto bytes = absl::MakeSpan(reinterpret_cast<std::byte*>(arrays[i].data()),
                                      arrays[i].size() * sizeof(T));
    ACCELD_ASSIGN_OR_RETURN(*addresses[i], context->Alloc(bytes.size(), {}));
    const StatusWaiter written;
    ACCELD_RETURN_IF_ERROR(context->Write(*addresses[i], bytes, kDefaultStream, nullptr, written));
    ACCELD_RETURN_IF_ERROR(written.Wait());
  }
  ACCELD_RETURN_IF_ERROR(context->Run(op, kDefaultStream));
  const auto result =
      absl::MakeSpan(reinterpret_cast<std::byte*>(arrays[2].data()), arrays[2].size() * sizeof(T));
  const StatusWaiter read;
  ACCELD_RETURN_IF_ERROR(context->Read(result, op.c, kDefaultStream, true, nullptr, read));
  absl::Status status = read.Wait();
  context->Close();
  return status;
}

// Checks a product of matrices of `size` rows and columns.
template <typename T>
absl::Status CheckGemm(Device& device, std::int64_t size) {
  std::vector<std::vector<T>> arrays(3, std::vector<T>(static_cast<std::size_t>(size * size)));
  std::uint32_t state = 1;  // A small linear congruential generator: the numbers need not be good.
  for (auto& array : arrays) {
    for (T& value : array) {
      state = state * 1664525 + 1013904223;
      value = static_cast<T>(state >> 8) / static_cast<T>(1 << 24) - static_cast<T>(0.5);
    }
  }
  std::vector<std::vector<T>> expected = arrays;
  const ops::Gemm gemm{.type = sizeof(T) == sizeof(double) ? DataType::kF64 : DataType::kF32,
                       .transpose_b = Transpose::kTranspose,
                       .m = size,
                       .n = size,
                       .k = size,
                       .lda = size,
                       .ldb = size,
                       .beta = 0.5,
                       .ldc = size};
  ops::Gemm reference = gemm;
  reference.a = reinterpret_cast<Address>(expected[0].data());
  reference.b = reinterpret_cast<Address>(expected[1].data());
  reference.c = reinterpret_cast<Address>(expected[2].data());
  reference::Run(Op(reference));
  ACCELD_RETURN_IF_ERROR(RunOnDevice(device, gemm, arrays));
  for (std::size_t i = 0; i < expected[2].size(); ++i) {
    const double error =
        std::abs(static_cast<double>(arrays[2][i]) - static_cast<double>(expected[2][i]));
    if (error <= kTolerance<T>) continue;  // Not taken for a NaN either.
    const bool by_openblas = device.info().kind == BackendKind::kCpu;
    return DeviceError(fmt::format(
        "{} device {} ({}) computes a gemm of {} wrong: element {} is {}, expected {}.{}",
        Name(device.info().kind), device.info().ordinal, device.info().name, Name(gemm.type), i,
        arrays[2][i], expected[2][i],
        by_openblas
            ? " On some processors the environment variable OPENBLAS_CORETYPE has to be set."
            : ""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDevice(Device& device) {
  for (const std::int64_t size : kSizes) {
    for (const auto check : {CheckGemm<float>, CheckGemm<double>}) {
      const absl::Status checked = check(device, size);
      if (absl::IsUnimplemented(checked)) return absl::OkStatus();
      ACCELD_RETURN_IF_ERROR(checked);
    }
  }
  return absl::OkStatus();
}

}  // namespace acceld
