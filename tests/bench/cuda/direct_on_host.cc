// In the place of a card: everything is computed on the host, at once.
#include <cstring>
#include <new>
#include <vector>

#include "backends/cuda/kernels/run_on_host.h"
#include "tests/bench/cuda/direct.h"
#include "tests/testing/cuda/fake_cuda_libraries.h"

namespace acceld::bench {
namespace {

class DirectOnHost final : public Direct {
 public:
  absl::StatusOr<std::byte*> Allocate(std::uint64_t bytes) override {
    // Aligned as the kernels want it.
    constexpr std::align_val_t kAlignment{256};
    auto* const data = static_cast<std::byte*>(::operator new(bytes, kAlignment));
    memory_.emplace_back(data, [](std::byte* p) { ::operator delete(p, kAlignment); });
    return data;
  }
  absl::StatusOr<std::byte*> AllocatePinned(std::uint64_t bytes) override {
    return Allocate(bytes);
  }

  absl::Status CopyToDevice(std::byte* target, const std::byte* source,
                            std::uint64_t bytes) override {
    std::memcpy(target, source, bytes);
    return absl::OkStatus();
  }
  absl::Status CopyToHost(std::byte* target, const std::byte* source,
                          std::uint64_t bytes) override {
    return CopyToDevice(target, source, bytes);
  }
  absl::Status CopyOnDevice(std::byte* target, const std::byte* source,
                            std::uint64_t bytes) override {
    return CopyToDevice(target, source, bytes);
  }

  absl::Status Launch(const cuda::Kernel& kernel) override {
    cuda::RunOnHost(kernel);
    return absl::OkStatus();
  }

  absl::Status Gemm(const cuda::GemmCall& call) override {
    FakeGemm(call);
    return absl::OkStatus();
  }

  absl::StatusOr<std::function<absl::Status()>> MakeConvolution(
      const cuda::ConvolutionKey& key, Algorithms, const cuda::ConvolutionCall& call) override {
    return [key, call] {
      FakeConvolution(key, call);
      return absl::OkStatus();
    };
  }

  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  std::vector<std::unique_ptr<std::byte, void (*)(std::byte*)>> memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Direct>> OpenDirect() { return std::make_unique<DirectOnHost>(); }

}  // namespace acceld::bench
