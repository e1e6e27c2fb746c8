// Memory that is used again is zeroed before work can see what its former owner left, and only
// then.
#include "backends/cpu/unzeroed_memory.h"

#include <thread>

#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

constexpr std::uint64_t kBytes = 1 << 20;
constexpr std::int64_t kFloats = kBytes / sizeof(float);
constexpr std::byte kLeft{0xa5};

// An allocation and what is left in it.
class LeftOver {
 public:
  explicit LeftOver(UnzeroedMemory& memory) : bytes_(kBytes, kLeft) {
    memory.Add(bytes_.data(), kBytes);
  }

  HostToDevice Write(std::uint64_t first, std::uint64_t bytes) {
    return {.target = bytes_.data() + first, .source = source_.data(), .bytes = bytes};
  }
  DeviceToHost Read(std::uint64_t first, std::uint64_t bytes) {
    return {.target = source_.data(), .source = bytes_.data() + first, .bytes = bytes};
  }
  Address address() const { return AddressOf(bytes_); }

  // How many bytes are not zeroed.
  std::int64_t left() const { return std::count(bytes_.begin(), bytes_.end(), kLeft); }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::byte> source_ = std::vector<std::byte>(kBytes);
};

void ExpectZeroedFor(UnzeroedMemory& memory, const LeftOver& data, const Work& work) {
  EXPECT_TRUE(memory.MustZeroFor(work));
  memory.Prepare(work, 2);
  EXPECT_EQ(data.left(), 0);
  EXPECT_TRUE(memory.empty());
}

void ExpectKeptFor(UnzeroedMemory& memory, const LeftOver& data, const Work& work) {
  EXPECT_FALSE(memory.MustZeroFor(work));
  memory.Prepare(work, 2);
  EXPECT_EQ(data.left(), static_cast<std::int64_t>(kBytes));
}

TEST(UnzeroedMemory, IsZeroedBeforeItIsRead) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{5}, kBytes - 1}) {
    UnzeroedMemory memory;
    LeftOver data(memory);
    ExpectZeroedFor(memory, data, data.Read(first, 1));
  }
}

TEST(UnzeroedMemory, IsNotZeroedWhereItIsOverwritten) {
  UnzeroedMemory memory;
  LeftOver data(memory);
  std::vector<float> input(kFloats);
  const Work works[] = {
      data.Write(0, kBytes), Op(ops::Memset{.target = data.address(), .value = 1, .bytes = kBytes}),
      Op(ops::Unary{.n = kFloats, .input = AddressOf(input), .output = data.address()})};
  for (const Work& work : works) ExpectKeptFor(memory, data, work);
  // Each could have failed so far.
  EXPECT_FALSE(memory.empty());
  memory.Overwritten(works[0]);
  EXPECT_TRUE(memory.empty());
}

TEST(UnzeroedMemory, IsNotZeroedWherePiecesFollowEachOther) {
  UnzeroedMemory memory;
  LeftOver data(memory);
  const Work pieces[] = {data.Write(0, 1000), data.Write(1000, kBytes - 3000),
                         data.Write(kBytes - 1000, 1000), data.Write(kBytes - 2000, 1000)};
  for (const Work& piece : pieces) {
    EXPECT_FALSE(memory.empty());
    ExpectKeptFor(memory, data, piece);
    memory.Overwritten(piece);
  }
  EXPECT_TRUE(memory.empty());
}

TEST(UnzeroedMemory, IsZeroedButForThePiecesThatWereWritten) {
  UnzeroedMemory memory;
  LeftOver data(memory);
  for (const Work& piece :
       {Work(data.Write(0, 1000)), Work(data.Write(kBytes - 500, 500)), Work(data.Write(7, 10))}) {
    memory.Prepare(piece, 2);
    memory.Overwritten(piece);
  }
  memory.Prepare(data.Read(0, 1), 2);  // sees written bytes alone
  EXPECT_EQ(data.left(), static_cast<std::int64_t>(kBytes));
  memory.Prepare(data.Read(0, kBytes), 2);
  EXPECT_EQ(data.left(), 1500);
  EXPECT_TRUE(memory.empty());
}

TEST(UnzeroedMemory, IsZeroedBeforeItsMiddleIsWritten) {
  UnzeroedMemory memory;
  LeftOver data(memory);
  ExpectZeroedFor(memory, data, data.Write(1, kBytes - 2));
}

TEST(UnzeroedMemory, IsZeroedBeforeAnOutputWithGaps) {
  std::vector<float> factors(kFloats);
  const Address a = AddressOf(factors);
  const ops::Gemm rows{
      .m = 255, .n = 1024, .k = 1, .a = a, .lda = 255, .b = a, .ldb = 1, .ldc = 256};
  const ops::BatchedGemm blocks{.m = 256,
                                .n = 255,
                                .k = 1,
                                .a = a,
                                .lda = 256,
                                .b = a,
                                .ldb = 1,
                                .ldc = 256,
                                .stride_c = 256 * 256,
                                .batch = 4};
  const auto run = [](auto op) {
    UnzeroedMemory memory;
    LeftOver data(memory);
    op.c = data.address();
    ExpectZeroedFor(memory, data, Op(op));
  };
  run(rows);
  run(blocks);
  // Without the gaps.
  UnzeroedMemory memory;
  LeftOver data(memory);
  ops::BatchedGemm dense = blocks;
  dense.n = 256;
  dense.c = data.address();
  ExpectKeptFor(memory, data, Op(dense));
}

TEST(UnzeroedMemory, IsZeroedBeforeAnOpThatAlsoReadsIt) {
  std::vector<float> other(kFloats);
  const auto run = [](auto fill_in) {
    UnzeroedMemory memory;
    LeftOver data(memory);
    ExpectZeroedFor(memory, data, Op(fill_in(data.address())));
  };
  run([](Address data) { return ops::Unary{.n = kFloats, .input = data, .output = data}; });
  run([&](Address data) {
    return ops::Binary{.n = kFloats, .a = AddressOf(other), .b = data, .output = data};
  });
  run([&](Address data) {
    return ops::Gemm{.m = kFloats,
                     .n = 1,
                     .k = 1,
                     .a = AddressOf(other),
                     .lda = kFloats,
                     .b = AddressOf(other),
                     .ldb = 1,
                     .beta = 1,
                     .c = data,
                     .ldc = kFloats};
  });
  run([&](Address data) {
    return ops::Scatter{
        .rows = kFloats, .columns = 1, .indices = {0}, .source = AddressOf(other), .table = data};
  });
  run([](Address data) {
    return ops::CopyDtoD{.target = data, .source = data + kBytes / 2, .bytes = kBytes / 2};
  });
}

TEST(UnzeroedMemory, IsLookedUpByItsOwnAddressesOnly) {
  UnzeroedMemory memory;
  std::vector<LeftOver> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(memory);
  std::vector<std::byte> others(kBytes);
  const Work other = HostToDevice{.target = others.data(), .source = others.data(), .bytes = 1};
  EXPECT_FALSE(memory.MustZeroFor(other));
  EXPECT_FALSE(memory.MustZeroFor(Op(ops::Memset{})));
  EXPECT_FALSE(memory.MustZeroFor(HostToDevice{}));
  memory.Prepare(all[2].Read(9, 1), 1);
  memory.Remove(reinterpret_cast<const std::byte*>(all[3].address()));
  memory.Prepare(all[3].Read(9, 1), 1);  // It has gone, and another may have it.
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].left(), i == 2 ? 0 : static_cast<std::int64_t>(kBytes)) << i;
  }
  memory.Remove(others.data());
  EXPECT_FALSE(memory.empty());
}

// Device memory that another allocation had and filled with kLeft.
std::byte* AllocateUsed(TestDevice& device, std::uint64_t bytes = kBytes) {
  std::byte* const former = device->Allocate(bytes, {}).value();
  std::fill(former, former + bytes, kLeft);
  device->Release(former, bytes);
  std::byte* const data = device->Allocate(bytes, {}).value();
  EXPECT_EQ(data, former);
  return data;
}

std::vector<std::byte> ReadAll(TestDevice& device, const std::byte* data,
                               std::uint64_t bytes = kBytes) {
  std::vector<std::byte> read(bytes, kLeft);
  EXPECT_THAT(device.Run(DeviceToHost{.target = read.data(), .source = data, .bytes = bytes}),
              IsOk());
  return read;
}

std::int64_t Zeros(const std::vector<std::byte>& bytes) {
  return std::count(bytes.begin(), bytes.end(), std::byte{0});
}

TEST(CpuMemoryUsedAgain, ReadsAsZeroWhateverComesFirst) {
  TestDevice device;
  const std::vector<std::byte> ones(kBytes, std::byte{1});
  const auto all_but = [](std::uint64_t bytes) {
    return static_cast<std::int64_t>(kBytes - bytes);
  };
  for (const auto& [first, bytes] : {std::pair<std::uint64_t, std::uint64_t>{0, 0},
                                     {0, 1},
                                     {0, kBytes / 2},
                                     {kBytes / 2, kBytes / 2},
                                     {1, kBytes - 2},
                                     {0, kBytes}}) {
    std::byte* const data = AllocateUsed(device);
    ASSERT_THAT(
        device.Run(HostToDevice{.target = data + first, .source = ones.data(), .bytes = bytes}),
        IsOk());
    const auto read = ReadAll(device, data);
    EXPECT_EQ(Zeros(read), all_but(bytes)) << first << " " << bytes;
    EXPECT_EQ(std::count(read.begin(), read.end(), kLeft), 0);
    device->Release(data, kBytes);
  }
}

TEST(CpuMemoryUsedAgain, ReadsAsZeroInTheGapsOfAnOutput) {
  TestDevice device;
  const std::vector<float> ones(1024, 1);
  std::byte* const data = AllocateUsed(device);
  ASSERT_THAT(device.Run(Op(ops::Gemm{.m = 200,
                                      .n = 1024,
                                      .k = 1,
                                      .a = AddressOf(ones),
                                      .lda = 200,
                                      .b = AddressOf(ones),
                                      .ldb = 1,
                                      .c = reinterpret_cast<Address>(data),
                                      .ldc = 256})),
              IsOk());
  std::vector<float> read(kFloats);
  ASSERT_THAT(
      device.Run(DeviceToHost{
          .target = reinterpret_cast<std::byte*>(read.data()), .source = data, .bytes = kBytes}),
      IsOk());
  for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], i % 256 < 200 ? 1 : 0) << i;
  device->Release(data, kBytes);
}

TEST(CpuMemoryUsedAgain, ReadsAsZeroInPlace) {
  TestDevice device;
  std::byte* const data = AllocateUsed(device);
  const auto address = reinterpret_cast<Address>(data);
  ASSERT_THAT(device.Run(Op(ops::Unary{
                  .op = UnaryOp::kExp, .n = kFloats, .input = address, .output = address})),
              IsOk());
  const auto* floats = reinterpret_cast<const float*>(data);
  EXPECT_EQ(std::count(floats, floats + kFloats, 1.0f), kFloats);
  device->Release(data, kBytes);
}

TEST(CpuMemoryUsedAgain, ReadsAsZeroAlsoWhereItWasNeverUsedBetween) {
  TestDevice device;
  std::vector<std::byte*> all;
  for (int i = 0; i < 8; ++i) all.push_back(device->Allocate(kBytes, {}).value());
  for (int turn = 0; turn < 2; ++turn) {
    for (std::byte* data : all) std::fill(data, data + kBytes, kLeft);
    for (std::byte* data : all) device->Release(data, kBytes);
    for (std::byte*& data : all) data = device->Allocate(kBytes, {}).value();
    for (std::byte* data : all) device->Release(data, kBytes);
    for (std::byte*& data : all) data = device->Allocate(kBytes, {}).value();
  }
  for (const std::byte* data : all) EXPECT_EQ(Zeros(ReadAll(device, data)), kBytes);
  for (std::byte* data : all) device->Release(data, kBytes);
}

// Zeroing takes long, whatever the work itself takes.
TEST(CpuMemoryUsedAgain, IsNotZeroedInTheThreadThatSubmits) {
  TestDevice device;
  std::byte* const data = AllocateUsed(device);
  float one = 1;
  const auto done_in = [&](std::byte* target) {
    const Work work = HostToDevice{
        .target = target, .source = reinterpret_cast<const std::byte*>(&one), .bytes = sizeof one};
    std::thread::id thread;
    Gate done;
    device->Submit(DeviceQueue{0}, work, [&](const WorkResult&) {
      thread = std::this_thread::get_id();
      done.Open();
    });
    done.Wait();
    return thread;
  };
  EXPECT_EQ(done_in(data), std::this_thread::get_id());  // at the start, so nothing is zeroed
  EXPECT_NE(done_in(data + kBytes / 2), std::this_thread::get_id());
  EXPECT_EQ(Zeros(ReadAll(device, data)), static_cast<std::int64_t>(kBytes) - 4);
  device->Release(data, kBytes);
}

TEST(CpuMemoryUsedAgain, IsNeverAnothersOnAnyQueue) {
  TestDevice device;
  constexpr std::uint64_t kMost = 3 * kBytes / 2;
  std::vector<std::thread> threads;
  for (int thread = 1; thread <= 3; ++thread) {
    threads.emplace_back([&device, thread, mine = static_cast<std::uint8_t>(thread)] {
      for (std::uint64_t i = 0; i < 12; ++i) {
        const std::uint64_t bytes = kMost >> (i % 3);
        std::byte* const data = device->Allocate(bytes, {}).value();
        // What is written: nothing, an end, the middle, or all.
        const std::uint64_t first = i % 4 == 2 ? bytes / 4 : 0;
        const std::uint64_t written =
            i % 4 == 3 ? bytes : bytes / 4 * std::min<std::uint64_t>(1, i % 4);
        const Work fill = Op(ops::Memset{
            .target = reinterpret_cast<Address>(data) + first, .value = mine, .bytes = written});
        ASSERT_THAT(device.Run(fill), IsOk());
        const auto read = ReadAll(device, data, bytes);
        ASSERT_EQ(Zeros(read), static_cast<std::int64_t>(bytes - written)) << thread << " " << i;
        ASSERT_EQ(std::count(read.begin(), read.end(), std::byte{mine}),
                  static_cast<std::int64_t>(written));
        device->Release(data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace acceld
