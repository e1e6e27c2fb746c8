// Host memory that the device copies from and to without staging.
#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "backends/core/status.h"
#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

class HostMemoryTest : public ConformanceTest {
 protected:
  absl::Span<std::byte> AllocHost(std::uint64_t bytes) {
    const absl::StatusOr<absl::Span<std::byte>> memory = backend().AllocHost(bytes);
    EXPECT_TRUE(IsOk(memory));
    return memory.ok() ? *memory : absl::Span<std::byte>();
  }
};

TEST_F(HostMemoryTest, HandsOutDistinctMemoryOfTheSizeAskedFor) {
  std::vector<absl::Span<std::byte>> all;
  for (const std::uint64_t bytes : {1, 100, 4096, 100000}) {
    all.push_back(AllocHost(bytes));
    ASSERT_EQ(all.back().size(), bytes);
    std::fill(all.back().begin(), all.back().end(), static_cast<std::byte>(all.size()));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto mine = [&](std::byte byte) { return byte == static_cast<std::byte>(i + 1); };
    EXPECT_TRUE(std::all_of(all[i].begin(), all[i].end(), mine)) << i;
    EXPECT_TRUE(IsOk(backend().FreeHost(all[i].data())));
  }
}

TEST_F(HostMemoryTest, RefusesNothingAndTooMuchAndThenServesLess) {
  EXPECT_TRUE(IsInvalidArgument(backend().AllocHost(0), {"0"}));
  for (const std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 62}) {
    EXPECT_TRUE(HasCode(backend().AllocHost(bytes), absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(AllocHost(100).size(), 100u);
}

TEST_F(HostMemoryTest, FreesOnlyTheStartOfWhatItHandedOutAndOnlyOnce) {
  const absl::Span<std::byte> memory = AllocHost(1000);
  std::byte other{};
  for (std::byte* bad : {static_cast<std::byte*>(nullptr), &other, memory.data() + 1,
                         memory.data() + 999, memory.data() + 1000}) {
    EXPECT_TRUE(IsInvalidArgument(backend().FreeHost(bad)));
  }
  EXPECT_TRUE(IsOk(backend().FreeHost(memory.data())));
  EXPECT_TRUE(IsInvalidArgument(backend().FreeHost(memory.data())));
}

TEST_F(HostMemoryTest, CopiesBothWaysWithAndWithoutAStream) {
  for (const bool named : {true, false}) {
    const Stream stream = named ? NewStream() : kDefaultStream;
    const auto use = named ? std::optional<Stream>(stream) : std::nullopt;
    const absl::Span<std::byte> in = AllocHost(50000);
    const absl::Span<std::byte> out = AllocHost(50000);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 31 % 253);
    const Address address = Alloc(50000);
    ASSERT_TRUE(IsOk(backend().CopyHtoD(address, in, use)));
    ASSERT_TRUE(IsOk(backend().CopyDtoH(out, address, use)));
    ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
    EXPECT_TRUE(in == out);
  }
}

TEST_F(HostMemoryTest, CopiesPartsOfIt) {
  const Stream stream = NewStream();
  const absl::Span<std::byte> memory = AllocHost(1000);
  std::fill(memory.begin(), memory.end(), std::byte{1});
  std::fill(memory.begin() + 400, memory.begin() + 500, std::byte{2});
  const Address address = Alloc(200);
  ASSERT_TRUE(IsOk(backend().CopyHtoD(address + 50, memory.subspan(400, 100), stream)));
  ASSERT_TRUE(IsOk(backend().CopyDtoH(memory.subspan(800, 200), address, stream)));
  ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  for (std::size_t i = 0; i < 1000; ++i) {
    const int expected = i >= 850 && i < 950 ? 2 : i >= 800 ? 0 : i >= 400 && i < 500 ? 2 : 1;
    EXPECT_EQ(static_cast<int>(memory[i]), expected) << i;
  }
}

// Only AllocHost's memory lets a copy that names a stream return early.
TEST_F(HostMemoryTest, WaitsForCopiesOfOtherMemory) {
  const Stream stream = NewStream();
  const Address address = Alloc(8);
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().Memset(address, 0x33, 8, stream)));
  std::vector<std::uint8_t> bytes(8, 0);
  ASSERT_TRUE(IsOk(backend().CopyDtoH(AsWritableBytes(bytes), address, stream)));
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(8, 0x33));
}

// Shown by an event behind the copy that is still pending when the call has returned. On a slow day
// the work may be done before the event is looked at, so there are some tries.
TEST_F(HostMemoryTest, ReturnsAtOnceFromCopiesThatNameAStream) {
  const Stream stream = NewStream();
  const Event event = NewEvent();
  const absl::Span<std::byte> memory = AllocHost(1000);
  const Address address = Alloc(1000);
  for (const bool to_device : {true, false}) {
    bool returned_before_it_was_done = false;
    for (int i = 0; i < 20 && !returned_before_it_was_done; ++i) {
      KeepBusy(stream, 2);
      ASSERT_TRUE(IsOk(to_device ? backend().CopyHtoD(address, memory, stream)
                                 : backend().CopyDtoH(memory, address, stream)));
      ASSERT_TRUE(IsOk(backend().RecordEvent(event, stream)));
      const absl::StatusOr<bool> done = backend().QueryEvent(event);
      ASSERT_TRUE(IsOk(done));
      returned_before_it_was_done = !*done;
      ASSERT_TRUE(IsOk(backend().SynchronizeStream(stream)));
    }
    EXPECT_TRUE(returned_before_it_was_done) << (to_device ? "to" : "from") << " the device";
  }
}

TEST_F(HostMemoryTest, FreeHostWaitsForTheCopiesThatUseIt) {
  const Stream stream = NewStream();
  const absl::Span<std::byte> memory = AllocHost(100000);
  std::fill(memory.begin(), memory.end(), std::byte{0x66});
  const Address address = Alloc(100000);
  KeepBusy(stream);
  ASSERT_TRUE(IsOk(backend().CopyHtoD(address, memory, stream)));
  ASSERT_TRUE(IsOk(backend().FreeHost(memory.data())));
  // Whoever gets the memory next may not change what is copied.
  const absl::Span<std::byte> next = AllocHost(100000);
  std::fill(next.begin(), next.end(), std::byte{0xff});
  EXPECT_EQ(Download<std::uint8_t>(address, 100000, stream),
            std::vector<std::uint8_t>(100000, 0x66));
}

// More of them in flight than there is staging memory, on streams that wait for each other.
TEST_F(HostMemoryTest, KeepsManyLargeCopiesInFlight) {
  const std::size_t bytes = 1 << 20;
  const Stream first = NewStream();
  const Stream second = NewStream();
  const Event event = NewEvent();
  const absl::Span<std::byte> memory = AllocHost(bytes);
  std::fill(memory.begin(), memory.end(), std::byte{0x21});
  const Address a = Alloc(bytes);
  const Address b = Alloc(bytes);
  KeepBusy(second);
  ASSERT_TRUE(IsOk(backend().RecordEvent(event, second)));
  ASSERT_TRUE(IsOk(backend().WaitEvent(first, event)));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(IsOk(backend().CopyHtoD(a, memory, first)));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(IsOk(backend().CopyHtoD(b, memory, second)));
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  EXPECT_EQ(Download<std::uint8_t>(a, bytes), std::vector<std::uint8_t>(bytes, 0x21));
  EXPECT_EQ(Download<std::uint8_t>(b, bytes), std::vector<std::uint8_t>(bytes, 0x21));
}

TEST_F(HostMemoryTest, RefusesCopiesThatLeaveTheAllocationAndTouchesNothing) {
  const absl::Span<std::byte> memory = AllocHost(100);
  std::fill(memory.begin(), memory.end(), std::byte{0x11});
  const Address address = Alloc(64);
  const Stream stream = NewStream();
  EXPECT_TRUE(IsInvalidArgument(backend().CopyHtoD(address, memory, stream)));
  EXPECT_TRUE(IsInvalidArgument(backend().CopyDtoH(memory, address, stream)));
  EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream)));
  EXPECT_EQ(Download<std::uint8_t>(address, 64), std::vector<std::uint8_t>(64, 0));
  for (const std::byte byte : memory) EXPECT_EQ(byte, std::byte{0x11});
}

}  // namespace
}  // namespace acceld::conformance
