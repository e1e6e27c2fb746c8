#include "backends/memory/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

constexpr std::uint64_t kBytes = 10'000;
constexpr auto kOutOfMemory = absl::StatusCode::kResourceExhausted;

SealedMemory Make(std::uint64_t bytes = kBytes) {
  absl::StatusOr<SealedMemory> memory = SealedMemory::Create("test", bytes);
  EXPECT_THAT(memory.status(), IsOk());
  return *std::move(memory);
}

bool IsOpen(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

TEST(SealedMemoryTest, IsZeroAlsoBehindItsEnd) {
  const SealedMemory memory = Make();
  EXPECT_EQ(memory.size_bytes(), kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, 0u);
  EXPECT_EQ(std::count(memory.data(), memory.data() + 12'288, std::byte{0}), 12'288);
}

TEST(SealedMemoryTest, ReservesAllOfIt) {
  const SealedMemory memory = Make();
  struct stat status;
  ASSERT_EQ(fstat(memory.fd(), &status), 0);
  EXPECT_EQ(status.st_size % 4096, 0);
  EXPECT_GE(status.st_blocks * 512, static_cast<std::int64_t>(kBytes));
}

TEST(SealedMemoryTest, KeepsItsSize) {
  const SealedMemory memory = Make();
  EXPECT_NE(ftruncate(memory.fd(), 0), 0);
  EXPECT_NE(ftruncate(memory.fd(), 1 << 20), 0);
  EXPECT_NE(fcntl(memory.fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(SealedMemoryTest, ShowsTheSameBytesToWhoOpensIt) {
  const SealedMemory memory = Make();
  const absl::StatusOr<SealedMemory> opened = SealedMemory::Open(dup(memory.fd()), kBytes);
  ASSERT_THAT(opened.status(), IsOk());
  EXPECT_NE(opened->data(), memory.data());
  EXPECT_EQ(opened->size_bytes(), kBytes);
  memory.data()[1] = std::byte{7};
  opened->data()[kBytes - 1] = std::byte{8};
  EXPECT_EQ(opened->data()[1], std::byte{7});
  EXPECT_EQ(memory.data()[kBytes - 1], std::byte{8});
}

TEST(SealedMemoryTest, OutlivesAHoleThatAPeerPunches) {
  const SealedMemory memory = Make();
  memory.data()[5000] = std::byte{7};
  ASSERT_EQ(fallocate(memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
  EXPECT_EQ(memory.data()[5000], std::byte{0});
}

TEST(SealedMemoryTest, WhatIsDiscardedIsZeroForWhoKeepsIt) {
  const SealedMemory memory = Make();
  const SealedMemory kept = *SealedMemory::Open(dup(memory.fd()), kBytes);
  std::fill_n(kept.data(), kBytes, std::byte{7});
  memory.Discard();
  EXPECT_EQ(std::count(kept.data(), kept.data() + kBytes, std::byte{0}), kBytes);
}

TEST(SealedMemoryTest, RefusesNothingAndTooMuch) {
  EXPECT_THAT(SealedMemory::Create("test", 0).status(), IsInvalid("0 bytes"));
  for (const std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 63,
                                    std::uint64_t{1} << 62, std::uint64_t{1} << 45}) {
    EXPECT_THAT(SealedMemory::Create("test", bytes).status(),
                IsStatus(kOutOfMemory, std::to_string(bytes)));
  }
}

TEST(SealedMemoryTest, WithoutDescriptorsIsOutOfMemory) {
  rlimit former;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &former), 0);
  rlimit none = former;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status refused = SealedMemory::Create("test", kBytes).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &former), 0);
  EXPECT_THAT(refused, IsStatus(kOutOfMemory, "memfd_create: Too many open files"));
}

TEST(SealedMemoryTest, OpensNothingThatIsTooSmall) {
  const SealedMemory memory = Make();
  const int descriptor = dup(memory.fd());
  EXPECT_THAT(SealedMemory::Open(descriptor, 12'289).status(),
              IsInvalid("The file of shared memory has 12288 bytes; it needs 12289."));
  EXPECT_FALSE(IsOpen(descriptor));
  EXPECT_THAT(SealedMemory::Open(dup(memory.fd()), 0).status(), IsInvalid("0 bytes"));
  EXPECT_THAT(SealedMemory::Open(dup(memory.fd()), ~std::uint64_t{0}).status(),
              IsInvalid("12288 bytes"));
}

TEST(SealedMemoryTest, OpensNothingThatCouldShrink) {
  const int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, 4096), 0);
  EXPECT_THAT(SealedMemory::Open(dup(unsealed), 4096).status(), IsInvalid("has the seals 0x0"));
  ASSERT_EQ(fcntl(unsealed, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_THAT(SealedMemory::Open(unsealed, 4096).status(), IsInvalid("has the seals 0x5"));
}

TEST(SealedMemoryTest, OpensNothingThatIsNoFileOfMemory) {
  EXPECT_THAT(SealedMemory::Open(-1, 4096).status(), IsInvalid("Descriptor -1"));
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  EXPECT_THAT(SealedMemory::Open(pipe_ends[0], 4096).status(), IsInvalid("has 0 bytes"));
  close(pipe_ends[1]);
}

TEST(SealedMemoryTest, Moves) {
  SealedMemory first = Make();
  std::byte* const data = first.data();
  const int descriptor = first.fd();
  SealedMemory second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.fd(), descriptor);
  {
    SealedMemory third = Make();
    second = std::move(third);
    EXPECT_NE(second.data(), data);
  }
  EXPECT_FALSE(IsOpen(descriptor));
  second.data()[kBytes - 1] = std::byte{1};
}

// Where a forked child has put memory of its own since.
TEST(SealedMemoryTest, InAForkedChildIsNotMappedAndUnmapsNothing) {
  const SealedMemory memory = Make(4096);
  memory.data()[0] = std::byte{1};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Succeeds only where nothing is mapped.
    void* const own = mmap(memory.data(), 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (own != memory.data()) _exit(1);
    memory.~SealedMemory();
    static_cast<volatile std::byte*>(own)[0] = std::byte{2};
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(memory.data()[0], std::byte{1});
}

}  // namespace
}  // namespace acceld
