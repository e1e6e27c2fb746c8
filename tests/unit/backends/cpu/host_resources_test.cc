#include "backends/cpu/host_resources.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace acceld {
namespace {

// A file system with the files a test puts into it.
class HostResources : public testing::Test {
 protected:
  HostResources() {
    std::string path = testing::TempDir() + "/host_XXXXXX";
    root_ = mkdtemp(path.data());
  }
  ~HostResources() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
};

TEST_F(HostResources, WithoutCgroupAreTheMachines) {
  EXPECT_GE(UsableCores(root_), 1);
  EXPECT_GT(UsableMemoryBytes(root_), 1u << 20);
  EXPECT_EQ(ProcessorName(root_), "CPU");
}

TEST_F(HostResources, AreThoseOfThisMachineByDefault) {
  EXPECT_LE(UsableCores(), UsableCores(root_));
  EXPECT_LE(UsableMemoryBytes(), UsableMemoryBytes(root_));
}

TEST_F(HostResources, HonourTheMemoryLimitOfAGroupsAncestor) {
  Write("/proc/self/cgroup", "0::/a.slice/b.scope\n");
  Write("/sys/fs/cgroup/a.slice/memory.max", "1000000\n");
  Write("/sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
  EXPECT_EQ(UsableMemoryBytes(root_), 1'000'000u);
}

TEST_F(HostResources, HonourTheLimitAtTheMountsRootInAContainer) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "2000000\n");
  Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(UsableMemoryBytes(root_), 2'000'000u);
  EXPECT_EQ(UsableCores(root_), 1);
}

TEST_F(HostResources, HonourTheLimitsOfVersion1) {
  Write("/proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n");
  Write("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "3000000\n");
  Write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(UsableMemoryBytes(root_), 3'000'000u);
  EXPECT_EQ(UsableCores(root_), 1);
}

TEST_F(HostResources, IgnoreLimitsThatSayNothing) {
  Write("/proc/self/cgroup", "0::/x\n4:cpu:/x\n");
  Write("/sys/fs/cgroup/x/memory.max", "garbage\n");
  Write("/sys/fs/cgroup/x/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  EXPECT_GT(UsableMemoryBytes(root_), 1u << 20);
  EXPECT_EQ(UsableCores(root_), UsableCores(root_ + "/nothing"));
}

TEST_F(HostResources, NameTheProcessor) {
  Write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 3GHz\nflags\t: a b\n");
  EXPECT_EQ(ProcessorName(root_), "Some CPU @ 3GHz");
}

}  // namespace
}  // namespace acceld
