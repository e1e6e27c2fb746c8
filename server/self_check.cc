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

// Odd, so that the kernels' edges are used as well.
constexpr std::int64_t kSize = 61;
constexpr double kTolerance = 1e-4;

using StatusWaiter = Waiter<absl::Status>;

// Runs `op` on `device`, with `arrays` as its a, b and c; c is read back.
absl::Status RunOnDevice(Device& device, ops::Gemm op, std::vector<std::vector<float>>& arrays) {
  std::shared_ptr<WorkSink> sink(std::shared_ptr<void>(), &device);
  ACCELD_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(device, std::move(sink)));
  Address* const addresses[] = {&op.a, &op.b, &op.c};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto bytes = absl::MakeSpan(reinterpret_cast<std::byte*>(arrays[i].data()),
                                      arrays[i].size() * sizeof(float));
    ACCELD_ASSIGN_OR_RETURN(*addresses[i], context->Alloc(bytes.size(), {}));
    const StatusWaiter written;
    ACCELD_RETURN_IF_ERROR(context->Write(*addresses[i], bytes, kDefaultStream, nullptr, written));
    ACCELD_RETURN_IF_ERROR(written.Wait());
  }
  ACCELD_RETURN_IF_ERROR(context->Run(op, kDefaultStream));
  const auto result = absl::MakeSpan(reinterpret_cast<std::byte*>(arrays[2].data()),
                                     arrays[2].size() * sizeof(float));
  const StatusWaiter read;
  ACCELD_RETURN_IF_ERROR(context->Read(result, op.c, kDefaultStream, true, nullptr, read));
  absl::Status status = read.Wait();
  context->Close();
  return status;
}

}  // namespace

absl::Status CheckDevice(Device& device) {
  std::vector<std::vector<float>> arrays(3, std::vector<float>(kSize * kSize));
  std::uint32_t state = 1;  // A small linear congruential generator: the numbers need not be good.
  for (auto& array : arrays) {
    for (float& value : array) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f;
    }
  }
  std::vector<std::vector<float>> expected = arrays;
  ops::Gemm gemm{.transpose_b = Transpose::kTranspose,
                 .m = kSize,
                 .n = kSize,
                 .k = kSize,
                 .lda = kSize,
                 .ldb = kSize,
                 .beta = 0.5,
                 .ldc = kSize};
  ops::Gemm reference = gemm;
  reference.a = reinterpret_cast<Address>(expected[0].data());
  reference.b = reinterpret_cast<Address>(expected[1].data());
  reference.c = reinterpret_cast<Address>(expected[2].data());
  reference::Run(Op(reference));
  const absl::Status ran = RunOnDevice(device, gemm, arrays);
  if (absl::IsUnimplemented(ran)) return absl::OkStatus();
  ACCELD_RETURN_IF_ERROR(ran);
  for (std::size_t i = 0; i < expected[2].size(); ++i) {
    const double error = std::abs(static_cast<double>(arrays[2][i]) - expected[2][i]);
    if (error <= kTolerance) continue;  // Not taken for a NaN either.
    return DeviceError(
        fmt::format("{} device {} ({}) computes a gemm wrong: element {} is {}, expected {}. On "
                    "some processors "
                    "the environment variable OPENBLAS_CORETYPE has to be set.",
                    Name(device.info().kind), device.info().ordinal, device.info().name, i,
                    arrays[2][i], expected[2][i]));
  }
  return absl::OkStatus();
}

}  // namespace acceld
