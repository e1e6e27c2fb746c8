#include "backends/core/values.h"

#include <string>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using ::testing::Test;
using ::testing::Types;

template <typename E>
class EnumTest : public Test {};

using Enums = Types<DataType, Transpose, ReduceOp, UnaryOp, BinaryOp, MixedPrecision, MemoryKind,
                    OpClass, BackendKind>;
TYPED_TEST_SUITE(EnumTest, Enums);

std::string WithCase(std::string_view text, int (*convert)(int)) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(convert(c));
  return result;
}

TYPED_TEST(EnumTest, NameAndParseRoundTrip) {
  for (const auto& entry : EnumTable<TypeParam>::kEntries) {
    EXPECT_EQ(Parse<TypeParam>(Name(entry.value)), entry.value) << entry.name;
    EXPECT_EQ(Name(entry.value), entry.name);
  }
}

TYPED_TEST(EnumTest, ParseIgnoresCaseAndSpacesAround) {
  for (const auto& entry : EnumTable<TypeParam>::kEntries) {
    EXPECT_EQ(Parse<TypeParam>(WithCase(entry.name, toupper)), entry.value) << entry.name;
    EXPECT_EQ(Parse<TypeParam>(WithCase(entry.name, tolower)), entry.value) << entry.name;
    EXPECT_EQ(Parse<TypeParam>(" \t\r\n" + std::string(entry.name) + "\n "), entry.value)
        << entry.name;
  }
}

TYPED_TEST(EnumTest, ParseRefusesWhatNamesNoValue) {
  for (std::string_view text : {"", "  ", "invalid", "opencl", "sum,max", "f 32"}) {
    EXPECT_EQ(Parse<TypeParam>(text), std::nullopt) << text;
  }
}

TYPED_TEST(EnumTest, EveryOtherNumberIsInvalid) {
  using Number = std::underlying_type_t<TypeParam>;
  for (int number = 0; number < 256; ++number) {
    bool listed = false;
    for (const auto& entry : EnumTable<TypeParam>::kEntries) {
      listed |= static_cast<int>(entry.value) == number;
    }
    const auto value = static_cast<TypeParam>(static_cast<Number>(number));
    EXPECT_EQ(IsValid(value), listed) << number;
    EXPECT_EQ(Name(value) == "invalid", !listed) << number;
  }
}

TYPED_TEST(EnumTest, ZeroIsNotSet) { EXPECT_FALSE(IsValid(static_cast<TypeParam>(0))); }

TEST(ValuesTest, NamesAreThoseOfTheSpecification) {
  EXPECT_EQ(Name(DataType::kF32), "f32");
  EXPECT_EQ(Name(DataType::kF64), "f64");
  EXPECT_EQ(Name(Transpose::kNone), "N");
  EXPECT_EQ(Name(Transpose::kTranspose), "T");
  EXPECT_EQ(Name(Transpose::kConjugateTranspose), "C");
  EXPECT_EQ(Name(ReduceOp::kMean), "mean");
  EXPECT_EQ(Name(UnaryOp::kSigmoid), "sigmoid");
  EXPECT_EQ(Name(BinaryOp::kDiv), "div");
  EXPECT_EQ(Name(MixedPrecision::kBf16), "bf16");
  EXPECT_EQ(Name(MemoryKind::kHostPinned), "host-pinned");
  EXPECT_EQ(Name(OpClass::kElementwise), "elementwise");
  EXPECT_EQ(Name(BackendKind::kLevelZero), "level_zero");
}

TEST(ValuesTest, BackendKindsParseFromTheirAliases) {
  EXPECT_EQ(Parse<BackendKind>("nvidia"), BackendKind::kCuda);
  EXPECT_EQ(Parse<BackendKind>("hip"), BackendKind::kRocm);
  EXPECT_EQ(Parse<BackendKind>("AMD"), BackendKind::kRocm);
  EXPECT_EQ(Parse<BackendKind>("mtl"), BackendKind::kMetal);
  EXPECT_EQ(Parse<BackendKind>("apple"), BackendKind::kMetal);
  EXPECT_EQ(Parse<BackendKind>("levelzero"), BackendKind::kLevelZero);
  EXPECT_EQ(Parse<BackendKind>("l0"), BackendKind::kLevelZero);
  EXPECT_EQ(Parse<BackendKind>("intel"), BackendKind::kLevelZero);
  EXPECT_EQ(Parse<BackendKind>("vk"), BackendKind::kVulkan);
  EXPECT_EQ(Parse<BackendKind>("wgpu"), BackendKind::kWebGpu);
  EXPECT_EQ(Parse<BackendKind>(" Host "), BackendKind::kCpu);
  EXPECT_EQ(Parse<BackendKind>("reference"), BackendKind::kCpu);
}

TEST(ValuesTest, PrioritiesPutTheCpuLast) {
  EXPECT_EQ(DefaultPriority(BackendKind::kCuda), 100);
  EXPECT_EQ(DefaultPriority(BackendKind::kRocm), 90);
  EXPECT_EQ(DefaultPriority(BackendKind::kMetal), 85);
  EXPECT_EQ(DefaultPriority(BackendKind::kLevelZero), 80);
  EXPECT_EQ(DefaultPriority(BackendKind::kVulkan), 60);
  EXPECT_EQ(DefaultPriority(BackendKind::kWebGpu), 50);
  EXPECT_EQ(DefaultPriority(BackendKind::kCpu), 1);
}

TEST(ValuesTest, AllKindsButTheCpuAreGpus) {
  for (const auto& entry : EnumTable<BackendKind>::kEntries) {
    EXPECT_EQ(IsGpu(entry.value), entry.value != BackendKind::kCpu) << entry.name;
  }
}

TEST(ValuesTest, SizeOfIsInBytes) {
  EXPECT_EQ(SizeOf(DataType::kF32), 4u);
  EXPECT_EQ(SizeOf(DataType::kF64), 8u);
}

}  // namespace
}  // namespace acceld
