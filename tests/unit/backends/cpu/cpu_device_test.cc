#include "backends/cpu/cpu_device.h"

#include <atomic>
#include <thread>

#include "backends/cpu/parallel.h"
#include "backends/cpu/work_size.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/backends/cpu/testing.h"

namespace acceld {
namespace {

TEST(CpuDevice, DescribesItself) {
  TestDevice device;
  EXPECT_EQ(device->info().kind, BackendKind::kCpu);
  EXPECT_EQ(device->info().ordinal, 0);
  EXPECT_EQ(device->info().uuid, "cpu-0");
  EXPECT_NE(device->info().name, "");
  EXPECT_EQ(device->info().memory_kind, MemoryKind::kHost);
  EXPECT_EQ(device->info().capabilities, Capabilities{});
  EXPECT_TRUE(device->supported_ops().all());
}

TEST(CpuDevice, RefusesThreadsOutOfRange) {
  EXPECT_THAT(MakeCpuDevice({.threads = -1})->Init(), IsInvalid("given -1 threads"));
  EXPECT_THAT(MakeCpuDevice({.threads = 1025})->Init(), IsInvalid("allowed are 1 to 1024"));
}

// Machines may have more processors than a device takes.
TEST(CpuDevice, ByDefaultTakesAsManyThreadsAsItMayHave) {
  EXPECT_EQ(DefaultThreads(3), 3);
  EXPECT_EQ(DefaultThreads(1024), 1024);
  EXPECT_EQ(DefaultThreads(1025), 1024);
}

TEST(CpuDevice, RefusesPrograms) {
  TestDevice device;
  EXPECT_FALSE(device->has_programs());
  EXPECT_THAT(device.Run(static_cast<const DeviceProgram*>(nullptr)),
              IsStatus(absl::StatusCode::kUnimplemented, "program"));
}

TEST(CpuDevice, ByDefaultTakesItsSizesFromTheMachine) {
  TestDevice device(CpuOptions{});
  EXPECT_GT(device->memory().total_bytes, 0u);
}

TEST(CpuDevice, HasItsOwnNumberForEachQueue) {
  TestDevice device;
  const auto first = device->CreateQueue(0);
  const auto second = device->CreateQueue(5);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_NE(*first, DeviceQueue{0});
  device->DestroyQueue(*first);
}

TEST(CpuDevice, ReportsWhenAndHowLongItWorked) {
  TestDevice device;
  LargeFill fill;
  const Work work = fill.work();
  const auto before = std::chrono::steady_clock::now();
  Gate done;
  WorkResult result;
  device->Submit(DeviceQueue{0}, work, [&](const WorkResult& given) {
    result = given;
    done.Open();
  });
  done.Wait();
  EXPECT_THAT(result.status, IsOk());
  EXPECT_GT(result.device_time.count(), 0);
  EXPECT_GE(result.finished - result.device_time, before);
  EXPECT_LE(result.finished, std::chrono::steady_clock::now());
}

TEST(CpuDevice, FinishesItsWorkBeforeItIsDestroyed) {
  constexpr int kCount = 30;
  LargeFill fill;
  const Work work = fill.work();
  std::atomic<int> done = 0;
  {
    TestDevice device;
    for (int i = 0; i < kCount; ++i) {
      device->Submit(DeviceQueue{0}, work, [&](const WorkResult&) { ++done; });
    }
  }
  EXPECT_EQ(done, kCount);
}

// A product whose bits depend on how it is split, and its data.
class Product {
 public:
  Product(Random& random, DataType type, std::int64_t n)
      : a_(random.Vector<double>(n * n)), b_(random.Vector<double>(n * n)), c_(a_.size()) {
    op_ = {.type = type,
           .m = n,
           .n = n,
           .k = n,
           .a = AddressOf(a_),
           .lda = n,
           .b = AddressOf(b_),
           .ldb = n,
           .c = AddressOf(c_),
           .ldc = n};
    if (type == DataType::kF32) {  // two f32 fit where one f64 is
      const auto fill = [&](std::vector<double>& data) {
        const auto values = random.Vector<float>(n * n);
        std::memcpy(data.data(), values.data(), values.size() * sizeof(float));
      };
      fill(a_);
      fill(b_);
    }
  }

  std::vector<double> RunOn(TestDevice& device) {
    std::fill(c_.begin(), c_.end(), 0.0);
    EXPECT_THAT(device.Run(Op(op_)), IsOk());
    return c_;
  }
  const ops::Gemm& op() const { return op_; }
  const std::vector<double>& c() const { return c_; }

 private:
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  ops::Gemm op_;
};

TEST(CpuDevice, GivesTheSameBitsAloneAndAmongOthers) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  for (const auto& [type, n] : {std::pair{DataType::kF32, 193},
                                {DataType::kF64, 193},
                                {DataType::kF32, 1000},
                                {DataType::kF64, 31}}) {
    Product product(random, type, n);
    const auto alone = product.RunOn(device);
    std::atomic<bool> stop = false;
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i) {
      others.emplace_back([&, i] {
        Random other_random;
        Product other(other_random, DataType::kF32, i == 0 ? 20 : 150);
        while (!stop) other.RunOn(device);
      });
    }
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(SameBits(product.RunOn(device), alone)) << n;
    stop = true;
    for (std::thread& other : others) other.join();
  }
}

TEST(CpuDevice, GivesTheSameBitsInlineAndQueued) {
  TestDevice device;
  Random random;
  SCOPED_TRACE(random.Trace());
  Product product(random, DataType::kF32, 61);
  const Work work = Op(product.op());
  ASSERT_TRUE(IsSmall(work));
  const auto inline_bits = product.RunOn(device);

  // Holds the worker in a callback, so that what follows is queued.
  Gate release;
  LargeFill fill;
  const Work large = fill.work();
  device->Submit(DeviceQueue{0}, large, [&](const WorkResult&) { release.Wait(); });
  Gate done;
  std::thread::id done_in;
  device->Submit(DeviceQueue{0}, work, [&](const WorkResult&) {
    done_in = std::this_thread::get_id();
    done.Open();
  });
  release.Open();
  done.Wait();
  EXPECT_NE(done_in, std::this_thread::get_id());
  EXPECT_TRUE(SameBits(product.c(), inline_bits));
}

TEST(CpuDevice, TakesLargeWorkForWhatItIs) {
  std::vector<float> data(16);
  const Address address = AddressOf(data);
  EXPECT_TRUE(IsSmall(Op(ops::Unary{.n = 4096, .input = address, .output = address})));
  EXPECT_FALSE(IsSmall(Op(ops::Unary{.n = 4097, .input = address, .output = address})));
  EXPECT_FALSE(IsSmall(Op(ops::Reduce{.shape = {100'000}, .axis = 0})));
  EXPECT_TRUE(IsSmall(Op(ops::Gemm{.m = 64, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64})));
  EXPECT_FALSE(IsSmall(Op(ops::Gemm{.m = 70, .n = 64, .k = 64, .lda = 70, .ldb = 64, .ldc = 70})));
  // No operations, but a large output to scale.
  EXPECT_FALSE(
      IsSmall(Op(ops::Gemm{.m = 500, .n = 500, .k = 0, .lda = 500, .ldb = 1, .ldc = 500})));
  EXPECT_TRUE(IsSmall(HostToDevice{.bytes = 262'144}));
  EXPECT_FALSE(IsSmall(DeviceToHost{.bytes = 262'145}));
  EXPECT_FALSE(IsSmall(Op(ops::Memset{.target = address, .value = 0, .bytes = 262'145})));
  // By what moves, not by the table.
  EXPECT_FALSE(IsSmall(
      Op(ops::Scatter{.rows = 1, .columns = 1, .indices = std::vector<std::int64_t>(65'537, 0)})));
  EXPECT_TRUE(IsSmall(Op(ops::Scatter{.rows = 1'000'000, .columns = 1, .indices = {5}})));
  ops::Gather gather{.rows = 1'000'000, .columns = 16};
  gather.indices.assign(100, 5);
  EXPECT_TRUE(IsSmall(Op(gather)));
  gather.indices.assign(10'000, 5);
  EXPECT_FALSE(IsSmall(Op(gather)));
}

}  // namespace
}  // namespace acceld
