// Memory that another process opens on the same device; here a backend of this process's own. Where
// the way has none, each call says so.
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kBytes = 100'000;

class OpenTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    opener_ = MakeOpener();
    if (opener_ != nullptr) {
      ASSERT_TRUE(IsOk(opener_->Init()));
    }
  }

  bool OpensMemory() const { return opener_ != nullptr; }
  ComputeBackend& opener() { return *opener_; }

  absl::StatusOr<Address> AllocOpenable(std::uint64_t bytes = kBytes) {
    return backend().Alloc(bytes, {.openable = true});
  }

  // A new allocation, its handle, and where the opener has it. All are void where the way has no
  // openable memory: the test then ends, once it is clear that the backend says so.
  struct Opened {
    Address address = 0;
    ShareableHandle handle{};
    Address opened = 0;
  };
  Opened AllocOpened(std::uint64_t bytes = kBytes) {
    const absl::StatusOr<Address> address = AllocOpenable(bytes);
    if (!OpensMemory()) {
      EXPECT_TRUE(IsUnsupported(address.status()));
      return {};
    }
    EXPECT_TRUE(IsOk(address));
    if (!address.ok()) return {};
    absl::StatusOr<ShareableHandle> handle = backend().ExportHandle(*address);
    EXPECT_TRUE(IsOk(handle));
    if (!handle.ok()) return {.address = *address};
    const absl::StatusOr<Address> opened = opener().ImportHandle(*handle);
    EXPECT_TRUE(IsOk(opened));
    return {
        .address = *address, .handle = *std::move(handle), .opened = opened.value_or(Address{0})};
  }

  // What `backend` has at `address`, once all its work is done.
  static Bytes Contents(ComputeBackend& backend, Address address, std::uint64_t bytes = kBytes) {
    Bytes contents(bytes, 0xee);
    EXPECT_TRUE(IsOk(backend.CopyDtoH(AsWritableBytes(contents), address)));
    return contents;
  }

  static testing::AssertionResult IsUnsupported(const absl::Status& status) {
    const testing::AssertionResult code = HasCode(status, absl::StatusCode::kUnimplemented);
    return code ? HasReason(status, reason::kUnsupported) : code;
  }

 private:
  std::unique_ptr<ComputeBackend> opener_;
};

TEST_F(OpenTest, AFreshAllocationIsZeroForWhoOpensIt) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, kBytes, std::uint64_t{3} << 20}) {
    const Opened memory = AllocOpened(bytes);
    if (!OpensMemory()) return;
    EXPECT_EQ(memory.address % 256, 0u);
    EXPECT_EQ(memory.opened % 256, 0u);
    EXPECT_EQ(memory.handle.size_bytes, bytes);
    EXPECT_EQ(memory.handle.device_uuid, opener().devices().at(0).uuid);
    EXPECT_EQ(Contents(opener(), memory.opened, bytes), Bytes(bytes, 0));
    ASSERT_TRUE(IsOk(backend().Memset(memory.address, 0xff, bytes)));
    ASSERT_TRUE(IsOk(backend().Synchronize()));
    ASSERT_TRUE(IsOk(backend().Free(memory.address)));
  }
}

TEST_F(OpenTest, EachSeesWhatTheOtherWroteByOpsAndCopies) {
  const Opened memory = AllocOpened();
  if (!OpensMemory()) return;
  ASSERT_TRUE(IsOk(backend().Memset(memory.address, 7, kBytes)));
  Write(memory.address + 3, AsBytes(Bytes{1, 2, 3}));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  Bytes expected(kBytes, 7);
  expected[3] = 1;
  expected[4] = 2;
  expected[5] = 3;
  EXPECT_EQ(Contents(opener(), memory.opened), expected);
  const std::vector<float> values{1, -2, 3, -4};
  ASSERT_TRUE(IsOk(opener().CopyHtoD(memory.opened, AsBytes(values))));
  ASSERT_TRUE(IsOk(opener().Unary(
      {.op = UnaryOp::kNeg, .n = 4, .input = memory.opened, .output = memory.opened + 16})));
  ASSERT_TRUE(IsOk(opener().Synchronize()));
  EXPECT_EQ(Floats(memory.address, 4), values);
  EXPECT_EQ(Floats(memory.address + 16, 4), (std::vector<float>{-1, 2, -3, 4}));
}

TEST_F(OpenTest, TheMemoryLivesForWhoOpenedItWhenItsOwnerIsGone) {
  const Opened memory = AllocOpened();
  if (!OpensMemory()) return;
  ASSERT_TRUE(IsOk(backend().Memset(memory.address, 7, kBytes)));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  ASSERT_TRUE(IsOk(backend().Free(memory.address)));
  // Whatever is allocated next is something else.
  const absl::StatusOr<Address> next = AllocOpenable();
  ASSERT_TRUE(IsOk(next));
  EXPECT_EQ(Contents(backend(), *next), Bytes(kBytes, 0));
  EndBackend();
  EXPECT_EQ(Contents(opener(), memory.opened), Bytes(kBytes, 7));
  // The handle opens it still.
  const absl::StatusOr<Address> again = opener().ImportHandle(memory.handle);
  ASSERT_TRUE(IsOk(again));
  EXPECT_NE(*again, memory.opened);
  ASSERT_TRUE(IsOk(opener().Free(memory.opened)));
  EXPECT_EQ(Contents(opener(), *again), Bytes(kBytes, 7));
}

TEST_F(OpenTest, OpenedMemoryEndsWithFreeAndHasItsSize) {
  const Opened memory = AllocOpened();
  if (!OpensMemory()) return;
  EXPECT_TRUE(IsInvalidArgument(opener().Memset(memory.opened, 1, kBytes + 1)));
  EXPECT_TRUE(IsInvalidArgument(opener().Free(memory.opened + 256)));
  EXPECT_TRUE(IsOk(opener().Free(memory.opened)));
  EXPECT_TRUE(HasReason(opener().Memset(memory.opened, 1, 1), reason::kUnknownAddress));
  EXPECT_TRUE(HasReason(opener().Free(memory.opened), reason::kUnknownAddress));
  ASSERT_TRUE(IsOk(backend().Memset(memory.address, 5, kBytes)));
  EXPECT_EQ(Contents(backend(), memory.address), Bytes(kBytes, 5));
}

TEST_F(OpenTest, OpenedMemoryIsNotExportedOn) {
  const Opened memory = AllocOpened();
  if (!OpensMemory()) return;
  EXPECT_TRUE(IsUnsupported(opener().ExportHandle(memory.opened).status()));
}

TEST_F(OpenTest, OnlyTheStartOfLiveOpenableMemoryIsExported) {
  const absl::StatusOr<Address> address = AllocOpenable();
  const Address pooled = Alloc(kBytes);
  EXPECT_TRUE(IsUnsupported(backend().ExportHandle(pooled).status()));
  for (const Address bad : {Address{0}, kGarbage, ~Address{0}, pooled + kBytes,
                            address.value_or(pooled) + 1, address.value_or(pooled) + 256}) {
    const absl::Status refused = backend().ExportHandle(bad).status();
    EXPECT_TRUE(OpensMemory() ? IsInvalidArgument(refused) : IsUnsupported(refused)) << bad;
  }
  if (!OpensMemory()) {
    EXPECT_TRUE(IsUnsupported(address.status()));
    return;
  }
  ASSERT_TRUE(IsOk(backend().Free(*address)));
  EXPECT_TRUE(HasReason(backend().ExportHandle(*address).status(), reason::kUnknownAddress));
}

TEST_F(OpenTest, RefusesHandlesThatAreNone) {
  const Opened memory = AllocOpened();
  if (!OpensMemory()) {
    EXPECT_TRUE(IsUnsupported(backend().ImportHandle({}).status()));
    return;
  }
  const auto import = [&](int descriptor, std::uint64_t bytes, const std::string& uuid) {
    return opener()
        .ImportHandle({.descriptor = UniqueFd(descriptor < 0 ? descriptor : dup(descriptor)),
                       .size_bytes = bytes,
                       .device_uuid = uuid})
        .status();
  };
  const int descriptor = memory.handle.descriptor.get();
  const std::string& uuid = memory.handle.device_uuid;
  EXPECT_TRUE(IsInvalidArgument(import(descriptor, kBytes, "GPU-elsewhere"), {"GPU-elsewhere"}));
  EXPECT_TRUE(IsInvalidArgument(import(descriptor, kBytes, "")));
  EXPECT_TRUE(IsInvalidArgument(import(descriptor, 0, uuid)));
  for (const std::uint64_t bytes : {std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
    EXPECT_TRUE(IsInvalidArgument(import(descriptor, bytes, uuid))) << bytes;
  }
  EXPECT_TRUE(IsInvalidArgument(import(-1, kBytes, uuid), {"not open"}));
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(IsInvalidArgument(import(null.get(), kBytes, uuid)));
  EXPECT_EQ(Contents(opener(), memory.opened), Bytes(kBytes, 0));
}

TEST_F(OpenTest, RefusesNothingAndTooMuchAndThenServesLess) {
  if (!OpensMemory()) {
    EXPECT_TRUE(IsUnsupported(AllocOpenable(0).status()));
    EXPECT_TRUE(IsUnsupported(AllocOpenable(~std::uint64_t{0}).status()));
    return;
  }
  EXPECT_TRUE(IsInvalidArgument(AllocOpenable(0).status()));
  const std::uint64_t total = backend().devices().at(0).total_memory_bytes;
  for (const std::uint64_t bytes : {total + 1, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    EXPECT_TRUE(HasCode(AllocOpenable(bytes), absl::StatusCode::kResourceExhausted)) << bytes;
  }
  EXPECT_NE(AllocOpened().opened, 0u);
}

TEST_F(OpenTest, CountsInTheDevicesMemoryWhileItIsAllocated) {
  if (!OpensMemory()) return;
  constexpr std::uint64_t kLargeBytes = 4 * kFreeMemorySlackBytes;
  const std::uint64_t before = FreeMemoryBytes();
  const absl::StatusOr<Address> address = AllocOpenable(kLargeBytes);
  ASSERT_TRUE(IsOk(address));
  EXPECT_LE(FreeMemoryBytes() + kLargeBytes, before + FreeMemorySlackBytes());
  ASSERT_TRUE(IsOk(backend().Free(*address)));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  const std::uint64_t after = FreeMemoryBytes();
  EXPECT_GE(after + FreeMemorySlackBytes(), before);
  EXPECT_LE(after, before + FreeMemorySlackBytes());
}

TEST_F(OpenTest, NeedsInit) {
  const std::unique_ptr<ComputeBackend> fresh = MakeBackend();
  EXPECT_TRUE(HasReason(fresh->ExportHandle(1).status(), reason::kNotInitialized));
  EXPECT_TRUE(HasReason(fresh->ImportHandle({}).status(), reason::kNotInitialized));
}

}  // namespace
}  // namespace acceld::conformance
