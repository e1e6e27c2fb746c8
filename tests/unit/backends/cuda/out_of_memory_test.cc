// Libraries and kernels that find no memory when they are first used, which the pool may have.
#include <string>
#include <utility>

#include "backends/core/status.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

constexpr std::uint64_t kBytes = 4096;

class CudaOutOfMemoryTest : public CudaDeviceTest {
 protected:
  ~CudaOutOfMemoryTest() override { device_->Release(data_, kBytes); }

  Address At(std::uint64_t offset) const { return reinterpret_cast<Address>(data_) + offset; }

  Op Product() const {
    return ops::Gemm{
        .m = 1, .n = 1, .k = 1, .a = At(0), .lda = 1, .b = At(0), .ldb = 1, .c = At(4), .ldc = 1};
  }
  // Of another shape each time, so that it is planned.
  Op Convolution() {
    const std::int64_t images = ++images_;
    return ops::Conv2dForward{.shape = Conv2dShape::For({images, 1, 2, 2}, {1, 1, 2, 2}),
                              .input = At(0),
                              .filter = At(1024),
                              .output = At(2048)};
  }
  // An op that makes this call of the driver.
  Op OpOf(std::string_view call) {
    if (call == "Launch") return ops::Unary{.n = 4, .input = At(0), .output = At(256)};
    if (call == "Memset") return ops::Memset{.target = At(0), .bytes = 4};
    if (call == "CopyOnDevice") {
      return ops::CopyDtoD{.target = At(0), .source = At(256), .bytes = 4};
    }
    if (call == "CopyToDevice") {
      return ops::Gather{
          .rows = 1, .columns = 1, .indices = {0}, .table = At(0), .output = At(256)};
    }
    return call == "Gemm" ? Product() : Convolution();
  }

  absl::Status Run(const Work& work) { return Submitted(*device_, queue_, work).Status(); }
  // The next `count` calls find no memory.
  void Starve(std::string_view call, int count) {
    for (int n = 1; n <= count; ++n) card_->FailCall(call, n, kDriverOutOfMemory);
  }

  std::byte* const data_ = Allocate(kBytes);
  std::int64_t images_ = 0;
};

class CudaOutOfMemoryIn : public CudaOutOfMemoryTest,
                          public testing::WithParamInterface<const char*> {
 protected:
  // An op is submitted again from its beginning, by the thread that may wait, where this call fails
  // twice; but a convolution without a plan comes from that thread already.
  bool comes_twice() const { return !std::string_view(GetParam()).ends_with("Convolution"); }
};

TEST_P(CudaOutOfMemoryIn, TheCallIsMadeAgainAfterThePoolIsTrimmed) {
  Starve(GetParam(), 1);
  EXPECT_THAT(Run(OpOf(GetParam())), IsOk());
  EXPECT_EQ(card_->calls("TrimPool"), 1);
}

TEST_P(CudaOutOfMemoryIn, WhereThatDoesNotHelpTheOpFailsAndTheNextOneRuns) {
  Starve(GetParam(), comes_twice() ? 4 : 2);
  EXPECT_THAT(Run(OpOf(GetParam())),
              IsStatus(absl::StatusCode::kResourceExhausted, "cudaErrorMemory (full)"));
  EXPECT_EQ(card_->calls("TrimPool"), comes_twice() ? 2 : 1);
  EXPECT_THAT(Run(OpOf(GetParam())), IsOk());
}

TEST_P(CudaOutOfMemoryIn, GraphsGoForIt) {
  const auto program = device_->MakeProgram({Product(), Product()});
  EXPECT_THAT(Run(program.get()), IsOk());
  Starve(GetParam(), comes_twice() ? 5 : 3);
  EXPECT_THAT(Run(OpOf(GetParam())), IsOk());
  EXPECT_EQ(card_->calls("DestroyGraph"), 1);
}

INSTANTIATE_TEST_SUITE_P(Calls, CudaOutOfMemoryIn,
                         testing::Values("Launch", "Memset", "CopyOnDevice", "CopyToDevice", "Gemm",
                                         "PlanConvolution", "RunConvolution"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(CudaOutOfMemoryTest, WhereThePoolCannotBeTrimmedThatIsTheError) {
  Starve("Gemm", 1);
  card_->FailCall("TrimPool", 1, kDriverLost);
  EXPECT_THAT(Run(Product()), HasReason(reason::kDeviceLost));
}

// It must not be trimmed meanwhile.
TEST_F(CudaOutOfMemoryTest, InACaptureThePoolIsTrimmedBehindIt) {
  for (const char* call : {"BeginCapture", "Gemm", "EndCapture"}) {
    SCOPED_TRACE(call);
    const auto program = device_->MakeProgram({Product(), Product()});
    const int trimmed = card_->calls("TrimPool");
    const int launched = card_->calls("LaunchGraph");
    Starve(call, 1);
    EXPECT_THAT(Run(program.get()), IsOk());
    EXPECT_EQ(card_->calls("TrimPool"), trimmed + 1);
    EXPECT_EQ(card_->calls("LaunchGraph"), launched + 1);
  }
}

TEST_F(CudaOutOfMemoryTest, AGraphIsLaunchedAgainAfterThePoolIsTrimmed) {
  const auto program = device_->MakeProgram({Product(), Product()});
  Starve("LaunchGraph", 1);
  EXPECT_THAT(Run(program.get()), IsOk());
  EXPECT_EQ(card_->calls("TrimPool"), 1);
  Starve("LaunchGraph", 4);
  EXPECT_THAT(Run(program.get()), IsStatus(absl::StatusCode::kResourceExhausted, "(full)"));
  EXPECT_THAT(Run(program.get()), IsOk());
}

}  // namespace
}  // namespace acceld
