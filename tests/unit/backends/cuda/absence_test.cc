#include "backends/cuda/absence.h"

#include "gtest/gtest.h"

namespace acceld::cuda {
namespace {

TEST(CudaAbsence, OfADriver) {
  EXPECT_EQ(WhyAbsent({.error = "cudaErrorInsufficientDriver (too old)",
                       .driver_version = 0,
                       .runtime_version = 13000}),
            "There is no CUDA device: no NVIDIA driver is installed, as there is no libcuda.so.1; "
            "cudaErrorInsufficientDriver (too old).");
}

TEST(CudaAbsence, OfANewEnoughDriver) {
  EXPECT_EQ(WhyAbsent({.error = "cudaErrorInsufficientDriver (too old)",
                       .driver_version = 12040,
                       .runtime_version = 13000}),
            "There is no CUDA device: the NVIDIA driver is for CUDA up to 12.4, and this plugin is "
            "built with 13.0; cudaErrorInsufficientDriver (too old).");
}

TEST(CudaAbsence, OfACard) {
  EXPECT_EQ(
      WhyAbsent(
          {.error = "cudaErrorNoDevice (none)", .driver_version = 13010, .runtime_version = 13000}),
      "There is no CUDA device: the NVIDIA driver finds none; cudaErrorNoDevice (none).");
}

TEST(CudaAbsence, OfACardThatIsVisible) {
  EXPECT_EQ(
      WhyAbsent({.driver_version = 13000, .runtime_version = 13000, .visible_devices = ""}),
      "There is no CUDA device: the NVIDIA driver shows none, with CUDA_VISIBLE_DEVICES \"\".");
}

}  // namespace
}  // namespace acceld::cuda
