// Libraries that are opened when they are first needed.
#include <cmath>

#include "backends/cuda/real/convolution.h"
#include "backends/cuda/real/cublas.h"
#include "backends/cuda/real/cudnn_functions.h"
#include "backends/cuda/real/shared_library.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld::cuda {
namespace {

TEST(SharedLibraryTest, SaysWhichFileIsMissingAndWhatToInstall) {
  SharedLibrary library;
  const DriverStatus status = library.Open("libnowhere.so.9", "Nowhere 9");
  EXPECT_EQ(status.code, DriverCode::kMissing);
  EXPECT_THAT(status.detail,
              testing::MatchesRegex(
                  "The library libnowhere.so.9 cannot be opened, neither where the system looks "
                  "for libraries \\(.*\\) nor as /usr/local/cuda/lib64/libnowhere.so.9 \\(.*\\); "
                  "install Nowhere 9, or name its folder in LD_LIBRARY_PATH\\."));
}

TEST(SharedLibraryTest, FindsFunctionsAndSaysWhichIsMissing) {
  SharedLibrary library;
  ASSERT_TRUE(library.Open("libm.so.6", "the C library").ok());
  double (*square_root)(double) = nullptr;
  ASSERT_TRUE(library.Find("sqrt", square_root).ok());
  EXPECT_EQ(square_root(9), 3);
  const DriverStatus status = library.Find("cube_root_of", square_root);
  EXPECT_EQ(status.code, DriverCode::kMissing);
  EXPECT_EQ(status.detail,
            "The library libm.so.6 has no function cube_root_of; install a newer the C library.");
}

// Whether there is a card or not; a product without elements does nothing on one.
TEST(CublasTest, HasEveryFunction) {
  Cublas cublas;
  const DriverStatus status =
      cublas.Gemm(nullptr, StreamUse::kRun, GemmCall{.lda = 1, .ldb = 1, .ldc = 1}, 0);
  if (status.code == DriverCode::kMissing) GTEST_SKIP() << status.detail;
  EXPECT_THAT(status.call, testing::StartsWith(status.ok() ? "" : "cublas"));
}

TEST(ConvolutionTest, LeavesOutWhatMixesNeighbours) {
  EXPECT_TRUE(KeepsNeighboursApart(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
  EXPECT_TRUE(KeepsNeighboursApart(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1));
  EXPECT_TRUE(KeepsNeighboursApart(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1));
  for (const auto algorithm :
       {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING,
        CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED}) {
    EXPECT_FALSE(KeepsNeighboursApart(algorithm)) << algorithm;
  }
  for (const auto algorithm :
       {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING,
        CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD,
        CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED}) {
    EXPECT_FALSE(KeepsNeighboursApart(algorithm)) << algorithm;
  }
  for (const auto algorithm :
       {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING,
        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD,
        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED}) {
    EXPECT_FALSE(KeepsNeighboursApart(algorithm)) << algorithm;
  }
}

// cuDNN that offers one algorithm, or none, of workspaces as they come, or that refuses to.
struct OneOffer {
  int algorithm = 0;
  cudnnDeterminism_t determinism = CUDNN_DETERMINISTIC;
  int count = 1;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
};
OneOffer one_offer;
std::size_t workspace_of_plain = 0;

template <typename Result>
cudnnStatus_t Offer(int* count, Result* results) {
  results->algo = static_cast<decltype(results->algo)>(one_offer.algorithm);
  results->status = CUDNN_STATUS_SUCCESS;
  results->determinism = one_offer.determinism;
  *count = one_offer.count;
  return one_offer.status;
}

template <typename Algorithm>
cudnnStatus_t Workspace(Algorithm algorithm, Algorithm plain, std::size_t* bytes) {
  *bytes = algorithm == plain ? workspace_of_plain : 100;
  return CUDNN_STATUS_SUCCESS;
}

CudnnFunctions OfferingCudnn() {
  CudnnFunctions functions{};
  functions.error_string = [](auto) { return "as it was told"; };
  functions.forward_algorithms = [](auto, auto, auto, auto, auto, auto, int* count,
                                    cudnnConvolutionFwdAlgoPerf_t* results) {
    return Offer(count, results);
  };
  functions.backward_data_algorithms = [](auto, auto, auto, auto, auto, auto, int* count,
                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
    return Offer(count, results);
  };
  functions.backward_filter_algorithms = [](auto, auto, auto, auto, auto, auto, int* count,
                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
    return Offer(count, results);
  };
  functions.forward_workspace = [](auto, auto, auto, auto, auto, auto algorithm,
                                   std::size_t* bytes) {
    return Workspace(algorithm, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, bytes);
  };
  functions.backward_data_workspace = [](auto, auto, auto, auto, auto, auto algorithm,
                                         std::size_t* bytes) {
    return Workspace(algorithm, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, bytes);
  };
  functions.backward_filter_workspace = [](auto, auto, auto, auto, auto, auto algorithm,
                                           std::size_t* bytes) {
    return Workspace(algorithm, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, bytes);
  };
  return functions;
}

TEST(ConvolutionTest, TakesWhatIsOfferedAndThePlainestWhereThatMayNotBeUsed) {
  const CudnnFunctions functions = OfferingCudnn();
  struct Case {
    ConvolutionKind kind;
    int allowed;
    int forbidden;
    int plain;
  };
  for (const auto& [kind, allowed, forbidden, plain] :
       {Case{ConvolutionKind::kForward, CUDNN_CONVOLUTION_FWD_ALGO_GEMM,
             CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
        Case{ConvolutionKind::kBackwardData, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
             CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1},
        Case{ConvolutionKind::kBackwardFilter, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3,
             CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1}}) {
    const auto choose = [&functions, kind = kind](const OneOffer& offer) {
      one_offer = offer;
      Convolution convolution(functions, {.kind = kind});
      return convolution.Choose(nullptr).ok() ? convolution.algorithm() : -1;
    };
    workspace_of_plain = 0;
    EXPECT_EQ(choose({.algorithm = allowed}), allowed);
    EXPECT_EQ(choose({.algorithm = forbidden}), plain);
    EXPECT_EQ(choose({.algorithm = allowed, .determinism = CUDNN_NON_DETERMINISTIC}), plain);
    EXPECT_EQ(choose({.count = 0}), plain);
    EXPECT_EQ(choose({.count = 0, .status = CUDNN_STATUS_NOT_SUPPORTED}), plain);
    EXPECT_EQ(choose({.count = 0, .status = CUDNN_STATUS_EXECUTION_FAILED}), -1);
    // Of which everything is too large.
    workspace_of_plain = std::size_t{1} << 40;
    EXPECT_EQ(choose({.count = 0}), -1);
  }
}

class CudnnTest : public testing::Test {
 protected:
  void SetUp() override {
    const DriverStatus status = functions_.Open();
    if (status.code == DriverCode::kMissing) GTEST_SKIP() << status.detail;
    ASSERT_TRUE(status.ok()) << status.detail;
  }

  CudnnFunctions functions_{};
};

TEST_F(CudnnTest, NamesWhatAFunctionReturned) {
  EXPECT_TRUE(functions_.ToStatus("cudnnCreate", CUDNN_STATUS_SUCCESS).ok());
  const DriverStatus failed = functions_.ToStatus("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(failed.code, DriverCode::kFailed);
  EXPECT_STREQ(failed.call, "cudnnCreate");
  EXPECT_EQ(failed.detail, "CUDNN_STATUS_NOT_INITIALIZED");
  EXPECT_EQ(functions_.ToStatus("", CUDNN_STATUS_NOT_SUPPORTED_SHAPE).code,
            DriverCode::kUnsupported);
}

// Also without cuDNN.
TEST(CudnnFunctionsTest, TellLackOfMemory) {
  CudnnFunctions functions{};
  functions.error_string = [](auto) { return "as it was told"; };
  for (const cudnnStatus_t status : {CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
                                     CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED}) {
    EXPECT_EQ(functions.ToStatus("", status).code, DriverCode::kOutOfMemory) << status;
  }
  EXPECT_EQ(functions.ToStatus("", CUDNN_STATUS_INTERNAL_ERROR).code, DriverCode::kFailed);
}

// Descriptors need no card; algorithms do.
TEST_F(CudnnTest, DescribesAConvolutionOrSaysWhyNot) {
  for (const ConvolutionKind kind : {ConvolutionKind::kForward, ConvolutionKind::kBackwardData,
                                     ConvolutionKind::kBackwardFilter}) {
    Convolution convolution(functions_,
                            {kind, Conv2dShape::For({2, 3, 8, 8}, {4, 3, 3, 3}, {2, 1}, {1, 0})});
    const DriverStatus status = convolution.Describe();
    EXPECT_TRUE(status.ok()) << status.call << ": " << status.detail;
  }
  // Arrays of more elements than cuDNN counts.
  Convolution large(functions_, {ConvolutionKind::kForward,
                                 Conv2dShape::For({1, 1, 70'000, 70'000}, {1, 1, 1, 1})});
  EXPECT_EQ(large.Describe().code, DriverCode::kUnsupported);
}

}  // namespace
}  // namespace acceld::cuda
