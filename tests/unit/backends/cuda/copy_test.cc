#include <algorithm>
#include <cstddef>

#include "backends/cuda/staged_copy.h"
#include "tests/unit/backends/cuda/testing.h"

namespace acceld {
namespace {

using Bytes = std::vector<std::uint8_t>;
using cuda::StagedCopy;

Bytes Pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 + i / 251);
  return bytes;
}

class CudaCopyTest : public CudaDeviceTest, public testing::WithParamInterface<std::uint64_t> {};

TEST_P(CudaCopyTest, MovesMemoryThatIsNotPinnedThereAndBack) {
  const Bytes source = Pattern(GetParam());
  std::byte* const data = Allocate(source.size() + 1);
  const Submitted write = Write(data, source);
  Bytes target(source.size());
  const Submitted read = Read(target, data);
  EXPECT_THAT(write.Status(), IsOk());
  EXPECT_THAT(read.Status(), IsOk());
  EXPECT_EQ(target, source);
  device_->Release(data, source.size() + 1);
}

INSTANTIATE_TEST_SUITE_P(Sizes, CudaCopyTest,
                         testing::Values(0, 1, 4097, StagedCopy::kPieceBytes - 1,
                                         StagedCopy::kPieceBytes, StagedCopy::kPieceBytes + 1,
                                         StagedCopy::kMaxPieces* StagedCopy::kPieceBytes,
                                         9 * StagedCopy::kPieceBytes + 3));

TEST_F(CudaDeviceTest, WorkBehindAStagedCopyComesAfterIt) {
  constexpr std::size_t kBytes = 5 * StagedCopy::kPieceBytes;
  std::byte* const data = Allocate(kBytes);
  const Bytes source = Pattern(kBytes);
  Bytes target(kBytes);
  const Submitted work[] = {Fill(data, 1, kBytes), Write(data, source), Read(target, data),
                            Fill(data, 2, kBytes)};
  for (const Submitted& each : work) EXPECT_THAT(each.Status(), IsOk());
  EXPECT_EQ(target, source);
  EXPECT_THAT(Read(target, data).Status(), IsOk());
  EXPECT_EQ(target, Bytes(kBytes, 2));
  device_->Release(data, kBytes);
}

TEST_F(CudaDeviceTest, StagesInAFewBlocksThatAreUsedAgain) {
  constexpr std::size_t kBytes = 32 * StagedCopy::kPieceBytes;
  std::byte* const data = Allocate(kBytes);
  Bytes bytes = Pattern(kBytes);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Write(data, bytes).Status(), IsOk());
    EXPECT_THAT(Read(bytes, data).Status(), IsOk());
  }
  EXPECT_LE(card_->calls("AllocateHost"), static_cast<int>(StagedCopy::kMaxPieces));
  device_->Release(data, kBytes);
}

TEST_F(CudaDeviceTest, AStagedCopyThatFailsInItsMiddleIsThatCopysErrorAlone) {
  constexpr std::size_t kBytes = 6 * StagedCopy::kPieceBytes;
  std::byte* const data = Allocate(kBytes);
  Bytes bytes(kBytes);
  for (const char* call : {"CopyToDevice", "CopyToHost"}) {
    card_->FailCall(call, 3, kDriverFailure);
    const Submitted write = Write(data, bytes);
    const Submitted read = Read(bytes, data);
    const bool writing = std::string_view(call) == "CopyToDevice";
    EXPECT_EQ(write.Status().ok(), !writing) << call;
    EXPECT_EQ(read.Status().ok(), writing) << call;
  }
  EXPECT_THAT(Fill(data, 1, kBytes).Status(), IsOk());
  device_->Release(data, kBytes);
}

TEST_F(CudaDeviceTest, RegisteredMemoryIsCopiedWithoutStaging) {
  constexpr std::size_t kBytes = 2 * StagedCopy::kPieceBytes;
  std::byte* const data = Allocate(kBytes);
  Bytes bytes = Pattern(kBytes);
  std::byte* const host = reinterpret_cast<std::byte*>(bytes.data());
  EXPECT_THAT(device_->RegisterHost(host, kBytes), IsOk());
  EXPECT_THAT(Write(data, bytes).Status(), IsOk());
  std::fill(bytes.begin(), bytes.end(), 0);
  EXPECT_THAT(Read(bytes, data).Status(), IsOk());
  EXPECT_EQ(bytes, Pattern(kBytes));
  EXPECT_EQ(card_->calls("CopyToDevice"), 1);
  EXPECT_EQ(card_->calls("CopyToHost"), 1);
  EXPECT_EQ(card_->calls("AllocateHost"), 0);
  device_->UnregisterHost(host);
  EXPECT_EQ(card_->calls("UnregisterHost"), 1);
  EXPECT_THAT(Read(bytes, data).Status(), IsOk());
  EXPECT_GT(card_->calls("AllocateHost"), 0);
  device_->Release(data, kBytes);
}

TEST_F(CudaDeviceTest, MemoryThatCannotBeRegisteredIsStaged) {
  constexpr std::size_t kBytes = 4096;
  std::byte* const data = Allocate(kBytes);
  Bytes bytes = Pattern(kBytes);
  card_->FailCall("RegisterHost", 1, kDriverFailure);
  EXPECT_THAT(device_->RegisterHost(reinterpret_cast<std::byte*>(bytes.data()), kBytes),
              IsStatus(absl::StatusCode::kInternal, "cuda device 0: "));
  EXPECT_THAT(Write(data, bytes).Status(), IsOk());
  EXPECT_EQ(card_->calls("AllocateHost"), 1);
  device_->Release(data, kBytes);
}

}  // namespace
}  // namespace acceld
