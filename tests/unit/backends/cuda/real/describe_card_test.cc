// What is shown of cards, from what CUDA says of them; NVIDIA's CUDA C++ Programming Guide,
// "Compute Capabilities", has which card can what.
#include "backends/cuda/real/describe_card.h"

#include <cstring>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace acceld::cuda {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

// What CUDA says of a card, as far as anybody asks.
struct Card {
  const char* name;
  int major;
  int minor;
  std::size_t memory_bytes;
  std::size_t shared_bytes;
  bool has_clusters;
};

cudaDeviceProp PropertiesOf(const Card& card) {
  cudaDeviceProp properties{};
  std::strncpy(properties.name, card.name, sizeof properties.name - 1);
  for (int i = 0; i < 16; ++i) properties.uuid.bytes[i] = static_cast<char>(0xf0 + i);
  properties.major = card.major;
  properties.minor = card.minor;
  properties.totalGlobalMem = card.memory_bytes;
  properties.sharedMemPerBlock = 48 << 10;
  properties.sharedMemPerBlockOptin = card.shared_bytes;
  properties.maxThreadsPerBlock = 1024;
  properties.warpSize = 32;
  properties.clusterLaunch = card.has_clusters ? 1 : 0;
  return properties;
}

constexpr Card kSm80{"NVIDIA A100-SXM4-80GB", 8, 0, 80 * kGiB, 163 << 10, false};
constexpr Card kSm89{"NVIDIA L40S", 8, 9, 45 * kGiB, 99 << 10, false};
constexpr Card kSm90{"NVIDIA H100 80GB HBM3", 9, 0, 80 * kGiB, 227 << 10, true};
constexpr Card kSm100{"NVIDIA B200", 10, 0, 180 * kGiB, 227 << 10, true};

TEST(DescribeCardTest, HasWhatCudaSays) {
  for (const Card& card : {kSm80, kSm89, kSm90, kSm100}) {
    const DeviceInfo info = DescribeCard(PropertiesOf(card), 3, /*reaches_a_peer=*/false);
    SCOPED_TRACE(card.name);
    EXPECT_EQ(info.kind, BackendKind::kCuda);
    EXPECT_EQ(info.ordinal, 3);
    EXPECT_EQ(info.name, card.name);
    EXPECT_EQ(info.uuid, "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
    EXPECT_EQ(info.compute_capability_major, card.major);
    EXPECT_EQ(info.compute_capability_minor, card.minor);
    EXPECT_EQ(info.total_memory_bytes, card.memory_bytes);
    // Others may use it.
    EXPECT_EQ(info.free_memory_bytes, std::nullopt);
    EXPECT_EQ(info.memory_kind, MemoryKind::kDevice);
    EXPECT_EQ(info.capabilities.max_threads_per_block, 1024);
    EXPECT_EQ(info.capabilities.max_shared_memory_per_block_bytes,
              static_cast<std::int64_t>(card.shared_bytes));
    EXPECT_EQ(info.capabilities.warp_size, 32);
    EXPECT_FALSE(info.capabilities.peer_access);
    EXPECT_FALSE(info.capabilities.unified_memory);
  }
}

TEST(DescribeCardTest, KnowsWhatEachArchitectureHas) {
  for (const Card& card : {kSm80, kSm89, kSm90, kSm100}) {
    const Capabilities capabilities = DescribeCard(PropertiesOf(card), 0, false).capabilities;
    SCOPED_TRACE(card.name);
    EXPECT_TRUE(capabilities.fp16);
    EXPECT_TRUE(capabilities.bf16);
    EXPECT_TRUE(capabilities.tensor_cores);
    EXPECT_TRUE(capabilities.async_copy);
    EXPECT_EQ(capabilities.fp8, card.major > 8 || card.minor == 9);
    EXPECT_EQ(capabilities.cluster_launch, card.major >= 9);
  }
}

// They are listed, and refused when they are opened.
TEST(DescribeCardTest, KnowsWhatOlderArchitecturesLack) {
  const Card pascal{"NVIDIA P100", 6, 0, 16 * kGiB, 48 << 10, false};
  const Capabilities of_pascal = DescribeCard(PropertiesOf(pascal), 0, false).capabilities;
  EXPECT_TRUE(of_pascal.fp16);
  EXPECT_FALSE(of_pascal.tensor_cores);
  const Card turing{"NVIDIA T4", 7, 5, 16 * kGiB, 64 << 10, false};
  const Capabilities of_turing = DescribeCard(PropertiesOf(turing), 0, false).capabilities;
  EXPECT_TRUE(of_turing.tensor_cores);
  EXPECT_FALSE(of_turing.bf16);
  EXPECT_FALSE(of_turing.fp8);
  EXPECT_FALSE(of_turing.async_copy);
}

TEST(DescribeCardTest, TellsPeersAndSharedMemory) {
  cudaDeviceProp properties = PropertiesOf(kSm90);
  properties.integrated = 1;
  const Capabilities capabilities = DescribeCard(properties, 0, true).capabilities;
  EXPECT_TRUE(capabilities.peer_access);
  EXPECT_TRUE(capabilities.unified_memory);
}

}  // namespace
}  // namespace acceld::cuda
