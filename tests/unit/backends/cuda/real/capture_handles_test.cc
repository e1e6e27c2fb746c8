// What is captured has handles of libraries of its own.
#include <cstdint>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cuda/real/cublas.h"
#include "backends/cuda/real/cudnn.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Handles are 1, 2 and so on; a call is its handle and its stream.
struct Seen {
  std::uintptr_t handles = 0;
  // Lack of memory makes the next one fail.
  bool full = false;
  std::map<std::uintptr_t, std::uintptr_t> streams{};
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> calls{};
  std::vector<std::uintptr_t> destroyed{};
};
Seen seen;

std::uintptr_t NumberOf(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

cudaStream_t Stream(std::uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); }

// The functions of either library that take a handle, by the name of what they return.
template <typename Status, typename Handle>
struct Fake {
  static Status Create(Handle* handle) {
    if (seen.full) return static_cast<Status>(kNoMemory);
    *handle = reinterpret_cast<Handle>(++seen.handles);
    return Status{};
  }
  static Status Destroy(Handle handle) {
    seen.destroyed.push_back(NumberOf(handle));
    return Status{};
  }
  static Status SetStream(Handle handle, cudaStream_t stream) {
    seen.streams[NumberOf(handle)] = NumberOf(stream);
    return Status{};
  }
  static Status Work(Handle handle) {
    seen.calls.emplace_back(NumberOf(handle), seen.streams[NumberOf(handle)]);
    return Status{};
  }
  static constexpr int kNoMemory =
      std::is_same_v<Status, cublasStatus_t>
          ? static_cast<int>(CUBLAS_STATUS_ALLOC_FAILED)
          : static_cast<int>(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
};

std::unique_ptr<const CublasFunctions> FakeCublas() {
  using Functions = Fake<cublasStatus_t, cublasHandle_t>;
  auto functions = std::make_unique<CublasFunctions>();
  functions->create = &Functions::Create;
  functions->destroy = &Functions::Destroy;
  functions->status_name = [](auto) { return "name"; };
  functions->status_string = [](auto) { return "words"; };
  functions->set_math_mode = [](auto, auto) { return CUBLAS_STATUS_SUCCESS; };
  functions->set_stream = &Functions::SetStream;
  functions->set_workspace = [](auto, auto, auto) { return CUBLAS_STATUS_SUCCESS; };
  functions->gemm = [](cublasHandle_t handle, auto...) { return Functions::Work(handle); };
  return functions;
}

std::unique_ptr<const CudnnFunctions> FakeCudnn() {
  using Functions = Fake<cudnnStatus_t, cudnnHandle_t>;
  auto functions = std::make_unique<CudnnFunctions>();
  const auto well = [](auto...) { return CUDNN_STATUS_SUCCESS; };
  functions->create = &Functions::Create;
  functions->destroy = &Functions::Destroy;
  functions->error_string = [](auto) { return "words"; };
  functions->set_stream = &Functions::SetStream;
  functions->create_tensor = well;
  functions->destroy_tensor = well;
  functions->set_tensor = well;
  functions->create_filter = well;
  functions->destroy_filter = well;
  functions->set_filter = well;
  functions->create_convolution = well;
  functions->destroy_convolution = well;
  functions->set_convolution = well;
  functions->set_math_type = well;
  functions->forward_algorithms = well;
  functions->forward_workspace = well;
  functions->forward = [](cudnnHandle_t handle, auto...) { return Functions::Work(handle); };
  return functions;
}

class CaptureHandlesTest : public testing::Test {
 protected:
  CaptureHandlesTest() { seen = {}; }
};

TEST_F(CaptureHandlesTest, OfCublas) {
  {
    Cublas cublas(FakeCublas());
    const auto multiply = [&](std::uintptr_t stream, StreamUse use) {
      return cublas.Gemm(Stream(stream), use, {}, 0).code;
    };
    // Where nothing was multiplied, nothing is made for captures either.
    EXPECT_TRUE(cublas.PrepareCapture().ok());
    EXPECT_EQ(seen.handles, 0u);
    EXPECT_EQ(multiply(10, StreamUse::kRun), DriverCode::kOk);
    EXPECT_EQ(multiply(11, StreamUse::kRun), DriverCode::kOk);
    EXPECT_EQ(seen.handles, 1u);
    seen.full = true;
    EXPECT_EQ(cublas.PrepareCapture().code, DriverCode::kOutOfMemory);
    seen.full = false;
    EXPECT_TRUE(cublas.PrepareCapture().ok());
    EXPECT_EQ(seen.handles, 2u);
    EXPECT_EQ(multiply(20, StreamUse::kCapture), DriverCode::kOk);
    EXPECT_EQ(multiply(10, StreamUse::kRun), DriverCode::kOk);
    EXPECT_EQ(multiply(20, StreamUse::kCapture), DriverCode::kOk);
    EXPECT_TRUE(cublas.PrepareCapture().ok());
    EXPECT_EQ(seen.handles, 2u);
  }
  EXPECT_THAT(seen.calls, ElementsAre(std::pair(1, 10), std::pair(1, 11), std::pair(2, 20),
                                      std::pair(1, 10), std::pair(2, 20)));
  EXPECT_THAT(seen.destroyed, ElementsAre(1, 2));
}

TEST_F(CaptureHandlesTest, OfCublasThatIsFirstUsedInACapture) {
  {
    Cublas cublas(FakeCublas());
    EXPECT_TRUE(cublas.Gemm(Stream(20), StreamUse::kCapture, {}, 0).ok());
    EXPECT_TRUE(cublas.Gemm(Stream(10), StreamUse::kRun, {}, 0).ok());
  }
  EXPECT_THAT(seen.calls, ElementsAre(std::pair(1, 20), std::pair(2, 10)));
  EXPECT_EQ(seen.destroyed.size(), 2u);
}

TEST_F(CaptureHandlesTest, OfCudnn) {
  {
    Cudnn cudnn(FakeCudnn());
    EXPECT_TRUE(cudnn.PrepareCapture().ok());
    EXPECT_EQ(seen.handles, 0u);
    const DriverResult<ConvolutionPlan> plan =
        cudnn.PlanConvolution({.shape = Conv2dShape::For({1, 1, 2, 2}, {1, 1, 2, 2})});
    ASSERT_TRUE(plan.ok()) << plan.status.call;
    const auto convolve = [&](std::uintptr_t stream, StreamUse use) {
      return cudnn.RunConvolution(Stream(stream), use, plan.value.handle, {}).code;
    };
    EXPECT_EQ(convolve(10, StreamUse::kRun), DriverCode::kOk);
    EXPECT_EQ(seen.handles, 1u);
    seen.full = true;
    EXPECT_EQ(cudnn.PrepareCapture().code, DriverCode::kOutOfMemory);
    seen.full = false;
    EXPECT_TRUE(cudnn.PrepareCapture().ok());
    EXPECT_EQ(convolve(20, StreamUse::kCapture), DriverCode::kOk);
    EXPECT_EQ(convolve(11, StreamUse::kRun), DriverCode::kOk);
    EXPECT_EQ(convolve(20, StreamUse::kCapture), DriverCode::kOk);
    EXPECT_EQ(seen.handles, 2u);
    cudnn.DestroyConvolution(plan.value.handle);
  }
  EXPECT_THAT(seen.calls,
              ElementsAre(std::pair(1, 10), std::pair(2, 20), std::pair(1, 11), std::pair(2, 20)));
  EXPECT_THAT(seen.destroyed, ElementsAre(1, 2));
}

TEST_F(CaptureHandlesTest, AreNotThereWithoutACall) {
  { const Cudnn cudnn(FakeCudnn()); }
  EXPECT_THAT(seen.destroyed, IsEmpty());
}

}  // namespace
}  // namespace acceld::cuda
