// What the real driver says without a card.
#include "backends/cuda/real/cuda_driver.h"
#include "backends/cuda/real/cuda_errors.h"
#include "backends/cuda/real/exclusion.h"
#include "backends/cuda/real/reduce_rows.h"
#include "gtest/gtest.h"

namespace acceld::cuda {
namespace {

DriverCode CodeOf(cudaError_t error) { return ToDriverStatus("cudaCall", error).code; }

// After these, says CUDA's manual, "the process must be terminated and relaunched", or the like.
TEST(CudaErrorsTest, TellWhetherTheCardIsLost) {
  for (const cudaError_t error :
       {cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorContained,
        cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorContextIsDestroyed,
        cudaErrorAssert, cudaErrorHardwareStackError, cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,
        cudaErrorLaunchFailure, cudaErrorTensorMemoryLeak, cudaErrorMpsClientTerminated,
        cudaErrorExternalDevice}) {
    EXPECT_EQ(CodeOf(error), DriverCode::kDeviceLost) << cudaGetErrorName(error);
  }
  for (const cudaError_t error :
       {cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorNoDevice,
        cudaErrorInitializationError, cudaErrorInvalidResourceHandle,
        cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated,
        cudaErrorHostMemoryAlreadyRegistered, cudaErrorLaunchOutOfResources, cudaErrorUnknown}) {
    EXPECT_EQ(CodeOf(error), DriverCode::kFailed) << cudaGetErrorName(error);
  }
}

TEST(CudaErrorsTest, TellWhatElseIsActedOn) {
  EXPECT_EQ(CodeOf(cudaSuccess), DriverCode::kOk);
  EXPECT_EQ(CodeOf(cudaErrorNotReady), DriverCode::kNotReady);
  EXPECT_EQ(CodeOf(cudaErrorMemoryAllocation), DriverCode::kOutOfMemory);
  EXPECT_EQ(CodeOf(cudaErrorNotSupported), DriverCode::kUnsupported);
}

TEST(CudaErrorsTest, NameTheCallAndTheError) {
  const DriverStatus status = ToDriverStatus("cudaCall", cudaErrorIllegalAddress);
  EXPECT_STREQ(status.call, "cudaCall");
  EXPECT_EQ(status.detail, "cudaErrorIllegalAddress (an illegal memory access was encountered)");
}

TEST(CudaDriverTest, SaysWhyACardCouldNotBeLookedAt) {
  const auto driver = MakeCudaDriver({.kind = BackendKind::kCuda, .name = "unavailable: so it is"});
  const DriverStatus status = driver->Init();
  EXPECT_EQ(status.code, DriverCode::kFailed);
  EXPECT_STREQ(status.call, "cudaGetDeviceProperties");
  EXPECT_EQ(status.detail, "unavailable: so it is");
}

TEST(CudaDriverTest, SaysWhichCardsAreTooOld) {
  const auto driver = MakeCudaDriver(
      {.kind = BackendKind::kCuda, .compute_capability_major = 7, .compute_capability_minor = 5});
  const DriverStatus status = driver->Init();
  EXPECT_EQ(status.code, DriverCode::kUnsupported);
  EXPECT_EQ(status.detail, "the card's compute capability is 7.5, and this plugin needs 8.0");
}

TEST(ReduceRowsTest, FailsWithoutACard) {
  int cards = 0;
  if (cudaGetDeviceCount(&cards) == cudaSuccess && cards > 0) GTEST_SKIP() << "There is a card.";
  EXPECT_NE(PrepareReductions(), cudaSuccess);
  EXPECT_NE(ReduceRows({.rows = 1, .length = 1}, nullptr), cudaSuccess);
}

TEST(CudaDriverTest, KeepsAPartOfWhatItMayUse) {
  const DeviceInfo card{.total_memory_bytes = 800};
  EXPECT_EQ(KeptBytes(card, 0), 100u);
  EXPECT_EQ(KeptBytes(card, 80), 10u);
  EXPECT_EQ(KeptBytes(card, 1000), 100u);
}

TEST(ExclusionTest, IsOfACardAndNotOfADriver) {
  EXPECT_EQ(&ExclusionOf(0), &ExclusionOf(0));
  EXPECT_NE(&ExclusionOf(0), &ExclusionOf(1));
}

}  // namespace
}  // namespace acceld::cuda
