#include "backends/cpu/host_resources.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace acceld {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// The numbers of a file such as "max 100000"; "max" and -1 give kNoLimit. Empty where there is no
// such file or it holds something else.
std::vector<std::uint64_t> ReadNumbers(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::uint64_t> numbers;
  std::string word;
  while (file >> word) {
    if (word == "max" || word == "-1") {
      numbers.push_back(kNoLimit);
      continue;
    }
    std::uint64_t number = 0;
    std::istringstream text(word);
    if (!(text >> number) || !text.eof()) return {};
    numbers.push_back(number);
  }
  return numbers;
}

// The path of this process's group in the hierarchy of `controller` (version 1) or in the unified
// hierarchy (version 2, an empty controller); "" for the root or where there is none.
std::string CgroupPath(const std::string& root, std::string_view controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // "4:cpu,cpuacct:/a/b", "0::/a/b"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::istringstream controllers(line.substr(first + 1, second - first - 1));
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    std::string name;
    if (controller.empty() && controllers.str().empty()) return path;
    while (std::getline(controllers, name, ',')) {
      if (!controller.empty() && name == controller) return path;
    }
  }
  return "";
}

// The folders of this process's group and its ancestors. In a container the group's own path may
// not be visible under the mount; its files then are in the mount's root.
std::vector<std::string> CgroupFolders(const std::string& root, std::string_view controller) {
  std::string mount = root + "/sys/fs/cgroup";
  if (!controller.empty()) mount.append("/").append(controller);
  std::string path = CgroupPath(root, controller);
  std::vector<std::string> folders;
  while (!path.empty()) {
    folders.push_back(mount + path);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

std::uint64_t CgroupCores(const std::string& root) {
  std::uint64_t cores = kNoLimit;
  const auto limit = [&](std::uint64_t quota, std::uint64_t period) {
    if (quota == kNoLimit || period == 0) return;
    cores = std::min(cores, std::max<std::uint64_t>(1, quota / period + (quota % period != 0)));
  };
  for (const std::string& folder : CgroupFolders(root, "")) {
    const auto numbers = ReadNumbers(folder + "/cpu.max");
    if (numbers.size() == 2) limit(numbers[0], numbers[1]);
  }
  for (const std::string& folder : CgroupFolders(root, "cpu")) {
    const auto quota = ReadNumbers(folder + "/cpu.cfs_quota_us");
    const auto period = ReadNumbers(folder + "/cpu.cfs_period_us");
    if (quota.size() == 1 && period.size() == 1) limit(quota[0], period[0]);
  }
  return cores;
}

// The rest of the line of `path` that begins with `key` and a colon.
std::optional<std::string> ReadField(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return std::nullopt;
}

// More processors than any machine has.
constexpr std::size_t kMaxProcessors = 16384;

int AffinityCores() {
  // Larger than cpu_set_t, which machines with more than 1,024 processors do not fit into.
  cpu_set_t* set = CPU_ALLOC(kMaxProcessors);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxProcessors);
  int cores = 0;
  if (set != nullptr && sched_getaffinity(0, bytes, set) == 0) cores = CPU_COUNT_S(bytes, set);
  CPU_FREE(set);
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(cores, 1);
}

}  // namespace

int UsableCores(const std::string& root) {
  const std::uint64_t affinity = static_cast<std::uint64_t>(AffinityCores());
  return static_cast<int>(std::min(affinity, CgroupCores(root)));
}

std::uint64_t UsableMemoryBytes(const std::string& root) {
  std::uint64_t bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto limit = [&](const std::string& path) {
    const auto numbers = ReadNumbers(path);
    if (numbers.size() == 1) bytes = std::min(bytes, numbers[0]);
  };
  for (const std::string& folder : CgroupFolders(root, "")) limit(folder + "/memory.max");
  for (const std::string& folder : CgroupFolders(root, "memory")) {
    limit(folder + "/memory.limit_in_bytes");
  }
  return bytes;
}

std::string ProcessorName(const std::string& root) {
  return ReadField(root + "/proc/cpuinfo", "model name").value_or("CPU");
}

}  // namespace acceld
