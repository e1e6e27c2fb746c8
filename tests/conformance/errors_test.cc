// Which error a call returns where several apply, and what it says.
#include <functional>
#include <string_view>
#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

using ErrorsTest = ConformanceTest;

// Each with arguments that are wrong besides: "not initialized" comes before all else.
TEST_F(ErrorsTest, EveryCallNeedsInitFirst) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  std::vector<std::byte> bytes(4);
  const Stream stream{77};
  const Event event{88};
  struct Call {
    std::string_view name;
    absl::Status status;
  };
  for (const Call& call : {
           Call{"Alloc", fresh->Alloc(0).status()},
           Call{"Alloc of a valid size", fresh->Alloc(64).status()},
           Call{"Alloc of too much", fresh->Alloc(~std::uint64_t{0}).status()},
           Call{"Free", fresh->Free(0)},
           Call{"CopyHtoD", fresh->CopyHtoD(0, bytes)},
           Call{"CopyHtoD of nothing", fresh->CopyHtoD(0, {})},
           Call{"CopyDtoH", fresh->CopyDtoH(absl::MakeSpan(bytes), 0)},
           Call{"CopyDtoH of nothing", fresh->CopyDtoH({}, 0)},
           Call{"AllocHost", fresh->AllocHost(0).status()},
           Call{"FreeHost", fresh->FreeHost(nullptr)},
           Call{"Map", fresh->Map(0).status()},
           Call{"Unmap", fresh->Unmap(0)},
           Call{"Gemm", fresh->Gemm({.m = -1})},
           Call{"Gemm of nothing", fresh->Gemm({.lda = 1, .ldb = 1, .ldc = 1})},
           Call{"Memset", fresh->Memset(0, 0, 1)},
           Call{"Memset of nothing", fresh->Memset(0, 0, 0)},
           Call{"CopyDtoD", fresh->CopyDtoD(0, 0, 1)},
           Call{"CreateStream", fresh->CreateStream().status()},
           Call{"DestroyStream", fresh->DestroyStream(stream)},
           Call{"CreateEvent", fresh->CreateEvent().status()},
           Call{"DestroyEvent", fresh->DestroyEvent(event)},
           Call{"RecordEvent", fresh->RecordEvent(event)},
           Call{"WaitEvent", fresh->WaitEvent(stream, event)},
           Call{"QueryEvent", fresh->QueryEvent(event).status()},
           Call{"SynchronizeEvent", fresh->SynchronizeEvent(event)},
           Call{"ElapsedTime", fresh->ElapsedTime(event, event).status()},
           Call{"SynchronizeStream", fresh->SynchronizeStream(kDefaultStream)},
           Call{"Synchronize", fresh->Synchronize()},
       }) {
    EXPECT_TRUE(HasCode(call.status, absl::StatusCode::kFailedPrecondition)) << call.name;
    EXPECT_TRUE(HasReason(call.status, reason::kNotInitialized)) << call.name;
    EXPECT_TRUE(Mentions(call.status, {"init"})) << call.name;
  }
}

TEST_F(ErrorsTest, AFailureBeforeInitLeavesTheBackendUsable) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  EXPECT_FALSE(fresh->Alloc(64).ok());
  ASSERT_TRUE(IsOk(fresh->Init()));
  EXPECT_TRUE(IsOk(fresh->Alloc(64)));
  EXPECT_TRUE(IsOk(fresh->Synchronize()));
}

TEST_F(ErrorsTest, AMessageNamesTheOpTheOperandTheEndAndTheAllocation) {
  // B is [3, 4] with a leading dimension of 3: 48 bytes from byte 96 on, in 128.
  const Address b = Alloc(128);
  const absl::Status status = backend().Gemm({.m = 2,
                                              .n = 4,
                                              .k = 3,
                                              .a = Alloc(24),
                                              .lda = 2,
                                              .b = b + 96,
                                              .ldb = 3,
                                              .c = Alloc(32),
                                              .ldc = 2});
  EXPECT_TRUE(IsInvalidArgument(status, {"Operand b of gemm", "144", "128 bytes"}));
  EXPECT_EQ(status.message().back(), '.');
}

TEST_F(ErrorsTest, AMessageNamesTheArgumentTheValueAndTheAllowedValue) {
  EXPECT_TRUE(
      IsInvalidArgument(backend().Gemm({.m = 7, .n = 1, .k = 1, .lda = 5, .ldb = 1, .ldc = 7}),
                        {"gemm", "lda", "5", "7"}));
  EXPECT_TRUE(IsInvalidArgument(backend().Softmax({.shape = {2, 3}, .axis = 4}),
                                {"softmax", "axis", "4", "2"}));
  EXPECT_TRUE(IsInvalidArgument(
      backend().Gather({.rows = 10, .columns = 1, .indices = {3, 12}, .table = 1, .output = 1}),
      {"gather", "indices[1]", "12", "10"}));
  EXPECT_TRUE(IsInvalidArgument(backend().Conv2dForward({.shape = {.input = {1, 1, 4, 4},
                                                                   .filter = {1, 1, 2, 2},
                                                                   .output = {1, 1, 3, 5},
                                                                   .stride = {1, 1},
                                                                   .padding = {0, 0}}}),
                                {"conv2d_forward", "output[3]", "5", "3"}));
}

// A wrong parameter comes before a wrong address; what is wrong first must not hide the rest later.
TEST_F(ErrorsTest, ChecksParametersBeforeAddresses) {
  const absl::Status status = backend().Unary({.op = static_cast<UnaryOp>(50), .n = 5});
  EXPECT_TRUE(IsInvalidArgument(status, {"unary", "op"}));
  EXPECT_TRUE(HasReason(status, reason::kInvalidArgument));
  EXPECT_TRUE(HasReason(backend().Unary({.n = 5}), reason::kUnknownAddress));
}

TEST_F(ErrorsTest, CarriesTheReasonOfEachKind) {
  EXPECT_TRUE(HasReason(backend().Alloc(0), reason::kInvalidArgument));
  EXPECT_TRUE(HasReason(backend().Alloc(std::uint64_t{1} << 48), reason::kDeviceOutOfMemory));
  EXPECT_TRUE(HasReason(backend().Map(Alloc(64)), reason::kUnsupported));
  EXPECT_TRUE(HasReason(backend().Free(kGarbage), reason::kUnknownAddress));
  EXPECT_TRUE(HasReason(backend().DestroyStream(Stream{5555}), reason::kUnknownStream));
  EXPECT_TRUE(HasReason(backend().DestroyEvent(Event{5555}), reason::kUnknownEvent));
}

// Many mistakes in a row cost nothing, and leave nothing behind.
TEST_F(ErrorsTest, ManyErrorsLeaveTheBackendAsItWas) {
  const auto values = random_.Floats(16);
  const Address x = Upload(values);
  const Stream stream = NewStream();
  const std::uint64_t free_bytes = FreeMemoryBytes();
  for (int i = 0; i < 500; ++i) {
    EXPECT_FALSE(backend().Alloc(std::uint64_t{1} << 50).ok());
    EXPECT_FALSE(backend().Free(x + 4).ok());
    EXPECT_FALSE(backend().Unary({.n = 17, .input = x, .output = x}, stream).ok());
    EXPECT_FALSE(backend().CopyDtoD(x, x + 4, 8, stream).ok());
    EXPECT_FALSE(backend().CopyHtoD(x + 60, AsBytes(values), stream).ok());
  }
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  EXPECT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_TRUE(SameBits(Floats(x, 16), values));
  EXPECT_GE(FreeMemoryBytes() + FreeMemorySlackBytes(), free_bytes);
}

}  // namespace
}  // namespace acceld::conformance
