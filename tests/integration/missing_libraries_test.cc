// A daemon whose card has no cuBLAS or no cuDNN: what needs neither is served, and what needs one
// ends with an error that says what is missing, on every transport.

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "backends/core/status.h"
#include "client/remote_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/daemon_process.h"

namespace acceld {
namespace {

using ::testing::AllOf;
using testing::DaemonProcess;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t kSize = 4;
constexpr std::uint64_t kBytes = kSize * kSize * sizeof(float);

class MissingLibrariesTest : public ::testing::TestWithParam<const char*> {
 protected:
  void Start(const char* lacks) {
    setenv("ACCELD_FAKE_CARD_LACKS", lacks, /*replace=*/1);
    daemon_ = DaemonProcess::Start({"--plugin_folder=tests/testing/plugins/fake_card"});
    unsetenv("ACCELD_FAKE_CARD_LACKS");
    backend_ = Connect();
    for (Address* const address : {&a_, &b_, &c_}) *address = backend_->Alloc(kBytes).value();
  }

  std::unique_ptr<RemoteBackend> Connect() const {
    auto backend =
        std::make_unique<RemoteBackend>(daemon_->unix_endpoint() + "?transport=" + GetParam(),
                                        ConnectOptions{.kind = BackendKind::kCuda});
    const absl::Status status = backend->Init();
    EXPECT_TRUE(status.ok()) << status;
    return backend;
  }

  // A product of matrices of ones.
  absl::Status Multiply() {
    EXPECT_TRUE(Fill(a_, 1).ok() && Fill(b_, 1).ok());
    const absl::Status submitted = backend_->Gemm({.m = kSize,
                                                   .n = kSize,
                                                   .k = kSize,
                                                   .a = a_,
                                                   .lda = kSize,
                                                   .b = b_,
                                                   .ldb = kSize,
                                                   .c = c_,
                                                   .ldc = kSize});
    return submitted.ok() ? backend_->Synchronize() : submitted;
  }

  absl::Status Convolve() {
    const absl::Status submitted = backend_->Conv2dForward(
        {.shape = Conv2dShape::For({1, 1, kSize, kSize}, {1, 1, 1, 1}, {1, 1}, {0, 0}),
         .input = a_,
         .filter = b_,
         .output = c_});
    return submitted.ok() ? backend_->Synchronize() : submitted;
  }

  // Whether what is neither a product nor a convolution is right.
  void ExpectServes() {
    ASSERT_TRUE(Fill(a_, 1).ok());
    ASSERT_TRUE(backend_->Memset(b_, 0, kBytes).ok());
    ASSERT_TRUE(backend_->CopyDtoD(b_, a_, kBytes).ok());
    ASSERT_TRUE(backend_->Binary({.n = kSize * kSize, .a = a_, .b = b_, .output = b_}).ok());
    EXPECT_THAT(Read(b_), Each(2));
    ASSERT_TRUE(
        backend_->Softmax({.shape = {kSize, kSize}, .axis = 1, .input = b_, .output = b_}).ok());
    EXPECT_THAT(Read(b_), Each(0.25f));
    ASSERT_TRUE(backend_
                    ->Attention({.batch = 1,
                                 .heads = 1,
                                 .seq_q = kSize,
                                 .seq_kv = kSize,
                                 .head_dim = kSize,
                                 .q = a_,
                                 .k = a_,
                                 .v = b_,
                                 .output = c_})
                    .ok());
    EXPECT_THAT(Read(c_), Each(0.25f));
  }

  absl::Status Fill(Address target, float value) {
    const std::vector<float> values(kSize * kSize, value);
    return backend_->CopyHtoD(target, {reinterpret_cast<const std::byte*>(values.data()), kBytes});
  }
  std::vector<float> Read(Address source) {
    std::vector<float> values(kSize * kSize);
    const absl::Status read = backend_->CopyDtoH(
        absl::MakeSpan(reinterpret_cast<std::byte*>(values.data()), kBytes), source);
    EXPECT_TRUE(read.ok()) << read;
    return values;
  }

  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<RemoteBackend> backend_;
  Address a_ = 0;
  Address b_ = 0;
  Address c_ = 0;
};

void ExpectMissing(const absl::Status& status, const std::string& file,
                   const std::string& package) {
  EXPECT_EQ(GetReason(status), reason::kUnsupported) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cuda device 0: The library " + file + " cannot be opened"),
                    HasSubstr(file + ": cannot open shared object file"),
                    HasSubstr("nor as /usr/local/cuda/lib64/" + file),
                    HasSubstr("install " + package + ", or name its folder in LD_LIBRARY_PATH.")));
}

TEST_P(MissingLibrariesTest, WithoutAnyWhatNeedsNoneIsServed) {
  Start("cublas,cudnn");
  for (int i = 0; i < 2; ++i) {
    ExpectMissing(Multiply(), "libcublas.so.0", "cuBLAS 0");
    ExpectMissing(Convolve(), "libcudnn.so.0", "cuDNN 0");
    ExpectServes();
    // Another session finds the same.
    backend_ = Connect();
    for (Address* const address : {&a_, &b_, &c_}) *address = backend_->Alloc(kBytes).value();
  }
}

TEST_P(MissingLibrariesTest, WithoutCudnnProductsAreServed) {
  Start("cudnn");
  ExpectMissing(Convolve(), "libcudnn.so.0", "cuDNN 0");
  EXPECT_TRUE(Multiply().ok());
  EXPECT_THAT(Read(c_), Each(kSize));
  ExpectServes();
}

TEST_P(MissingLibrariesTest, AProgramEndsWithTheSameError) {
  Start("cublas");
  ASSERT_TRUE(backend_->BeginRecording(kDefaultStream).ok());
  ASSERT_TRUE(backend_->Memset(c_, 0, kBytes).ok());
  ASSERT_TRUE(backend_
                  ->Gemm({.m = kSize,
                          .n = kSize,
                          .k = kSize,
                          .a = a_,
                          .lda = kSize,
                          .b = b_,
                          .ldb = kSize,
                          .c = c_,
                          .ldc = kSize})
                  .ok());
  const Program program = backend_->EndRecording(kDefaultStream).value();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(backend_->Replay(program, {}).ok());
    ExpectMissing(backend_->Synchronize(), "libcublas.so.0", "cuBLAS 0");
  }
  ExpectServes();
}

INSTANTIATE_TEST_SUITE_P(Transports, MissingLibrariesTest,
                         ::testing::Values("shm", "frames", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace acceld
