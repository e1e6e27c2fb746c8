// Many threads that use one backend at once.
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "tests/conformance/fixture.h"

namespace acceld::conformance {
namespace {

constexpr int kThreads = 8;

class ThreadsTest : public ConformanceTest {
 protected:
  // Runs `work` in each thread with the thread's number. gtest's checks may be used in it.
  static void InThreads(const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
  }

  absl::Status Add(Address x, Address term, Stream stream) {
    return backend().Binary({.op = BinaryOp::kAdd, .n = 1, .a = x, .b = term, .output = x}, stream);
  }
};

TEST_F(ThreadsTest, EachWithAStreamAndMemoryOfItsOwn) {
  InThreads([&](int thread) {
    const Stream stream = NewStream();
    const auto value = static_cast<float>(thread + 1);
    for (int round = 0; round < 30; ++round) {
      const std::vector<float> a(64, value);
      const Address a_address = Alloc(256);
      const Address c_address = Alloc(256);
      EXPECT_TRUE(IsOk(backend().CopyHtoD(a_address, AsBytes(a), stream)));
      EXPECT_TRUE(IsOk(backend().Gemm({.m = 8,
                                       .n = 8,
                                       .k = 8,
                                       .a = a_address,
                                       .lda = 8,
                                       .b = a_address,
                                       .ldb = 8,
                                       .c = c_address,
                                       .ldc = 8},
                                      stream)));
      EXPECT_EQ(Floats(c_address, 64, stream), std::vector<float>(64, 8 * value * value));
      EXPECT_TRUE(IsOk(backend().Free(a_address)));
      EXPECT_TRUE(IsOk(backend().Free(c_address)));
    }
    EXPECT_TRUE(IsOk(backend().DestroyStream(stream)));
  });
}

// One stream is in order, whoever submits to it: no addition is lost.
TEST_F(ThreadsTest, AllOnOneStreamAndOneNumber) {
  const Address x = Alloc(4);
  const Address one = Upload(std::vector<float>{1});
  InThreads([&](int) {
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(IsOk(Add(x, one, kDefaultStream)));
  });
  EXPECT_EQ(Floats(x, 1)[0], kThreads * 500);
}

TEST_F(ThreadsTest, AllReadingTheSameWeights) {
  const std::int64_t size = 48;
  const auto weights = random_.Floats(size * size);
  const Address shared = Upload(weights);
  std::vector<std::vector<float>> results(kThreads);
  InThreads([&](int thread) {
    const Stream stream = NewStream();
    const Address output = Alloc(size * size * 4);
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(IsOk(backend().Gemm({.m = size,
                                       .n = size,
                                       .k = size,
                                       .a = shared,
                                       .lda = size,
                                       .b = shared,
                                       .ldb = size,
                                       .c = output,
                                       .ldc = size},
                                      stream)));
    }
    results[static_cast<std::size_t>(thread)] = Floats(output, size * size, stream);
  });
  for (const std::vector<float>& result : results) EXPECT_TRUE(SameBits(result, results[0]));
}

TEST_F(ThreadsTest, AllocatingAndFreeing) {
  std::vector<std::vector<Address>> addresses(kThreads);
  InThreads([&](int thread) {
    for (int i = 0; i < 200; ++i) {
      const Address address = Alloc(static_cast<std::uint64_t>(1 + i * 10));
      addresses[static_cast<std::size_t>(thread)].push_back(address);
      EXPECT_TRUE(IsOk(backend().Free(address)));
    }
  });
  std::set<Address> seen;
  for (const std::vector<Address>& mine : addresses) seen.insert(mine.begin(), mine.end());
  EXPECT_EQ(seen.size(), kThreads * 200u);
}

TEST_F(ThreadsTest, FreeingOneAddressOnlyOnce) {
  for (int round = 0; round < 20; ++round) {
    const Address address = Alloc(64);
    std::atomic<int> freed = 0;
    InThreads([&](int) {
      const absl::Status status = backend().Free(address);
      if (status.ok()) {
        ++freed;
      } else {
        EXPECT_TRUE(IsInvalidArgument(status));
      }
    });
    EXPECT_EQ(freed, 1);
  }
}

// A use is either done or refused, while another thread frees.
TEST_F(ThreadsTest, UsingMemoryThatAnotherThreadFrees) {
  for (int round = 0; round < 20; ++round) {
    const Address address = Alloc(4096);
    InThreads([&](int thread) {
      if (thread == 0) {
        EXPECT_TRUE(IsOk(backend().Free(address)));
        return;
      }
      for (int i = 0; i < 10; ++i) {
        const absl::Status status = backend().Memset(address, 1, 4096);
        if (status.ok()) continue;
        EXPECT_TRUE(IsInvalidArgument(status));
      }
    });
  }
  EXPECT_TRUE(IsOk(backend().Synchronize()));
}

TEST_F(ThreadsTest, CreatingUsingAndDestroyingStreamsAndEvents) {
  InThreads([&](int) {
    const Address x = Alloc(4);
    const Address one = Upload(std::vector<float>{1});
    for (int i = 0; i < 50; ++i) {
      const Stream first = NewStream();
      const Stream second = NewStream();
      const Event event = NewEvent();
      EXPECT_TRUE(IsOk(Add(x, one, first)));
      EXPECT_TRUE(IsOk(backend().RecordEvent(event, first)));
      EXPECT_TRUE(IsOk(backend().WaitEvent(second, event)));
      EXPECT_TRUE(IsOk(Add(x, one, second)));
      EXPECT_TRUE(IsOk(backend().DestroyEvent(event)));
      EXPECT_TRUE(IsOk(backend().SynchronizeStream(second)));
      EXPECT_TRUE(IsOk(backend().DestroyStream(first)));
      EXPECT_TRUE(IsOk(backend().DestroyStream(second)));
    }
    EXPECT_EQ(Floats(x, 1)[0], 100);
  });
}

// Uploads whose room on the way is taken by uploads that wait for them, over events.
TEST_F(ThreadsTest, CopyingMuchOnStreamsThatWaitForEachOther) {
  const std::size_t bytes = 2 << 20;
  const Stream streams[] = {NewStream(), NewStream()};
  const Event events[] = {NewEvent(), NewEvent()};
  const std::vector<std::uint8_t> values(bytes, 0x3d);
  const Address targets[] = {Alloc(bytes), Alloc(bytes)};
  InThreads([&](int thread) {
    const auto mine = static_cast<std::size_t>(thread % 2);
    for (int i = 0; i < 6; ++i) {
      EXPECT_TRUE(IsOk(backend().WaitEvent(streams[mine], events[1 - mine])));
      EXPECT_TRUE(IsOk(backend().CopyHtoD(targets[mine], AsBytes(values), streams[mine])));
      EXPECT_TRUE(IsOk(backend().RecordEvent(events[mine], streams[mine])));
    }
  });
  ASSERT_TRUE(IsOk(backend().Synchronize()));
  for (const Address target : targets) {
    EXPECT_TRUE(Download<std::uint8_t>(target, bytes) == values);
  }
}

TEST_F(ThreadsTest, WaitingWhileOthersSubmit) {
  std::atomic<bool> stop = false;
  const Address x = Alloc(4);
  const Address one = Upload(std::vector<float>{1});
  std::thread submitter([&] {
    const Stream stream = NewStream();
    while (!stop) {
      EXPECT_TRUE(IsOk(Add(x, one, stream)));
      EXPECT_TRUE(IsOk(backend().SynchronizeStream(stream)));
    }
  });
  InThreads([&](int) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(IsOk(backend().Synchronize()));
      EXPECT_TRUE(IsOk(backend().SynchronizeStream(kDefaultStream)));
    }
  });
  stop = true;
  submitter.join();
}

TEST_F(ThreadsTest, EachMakingMistakesThatDoNotReachTheOthers) {
  InThreads([&](int thread) {
    const Stream stream = NewStream();
    const Address x = Alloc(4);
    const Address one = Upload(std::vector<float>{1});
    for (int i = 0; i < 100; ++i) {
      if (thread % 2 == 0) {
        EXPECT_TRUE(IsInvalidArgument(Add(x + 4, one, stream)));
        EXPECT_TRUE(IsInvalidArgument(backend().Free(x + 1)));
      }
      EXPECT_TRUE(IsOk(Add(x, one, stream)));
    }
    EXPECT_EQ(Floats(x, 1, stream)[0], 100);
  });
}

}  // namespace
}  // namespace acceld::conformance
