#include "proto/wire/device_wire.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/unit/proto/wire/field_count.h"
#include "tests/unit/proto/wire/unset_fields.h"

namespace acceld {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const DeviceInfo kInfo{.kind = BackendKind::kWebGpu,
                       .ordinal = 3,
                       .uuid = "GPU-1",
                       .name = "Accelerator",
                       .compute_capability_major = 9,
                       .compute_capability_minor = 1,
                       .total_memory_bytes = 1ull << 40,
                       .free_memory_bytes = 1ull << 33,
                       .memory_kind = MemoryKind::kUnified,
                       .capabilities = {.fp16 = true,
                                        .bf16 = true,
                                        .fp8 = true,
                                        .tensor_cores = true,
                                        .peer_access = true,
                                        .unified_memory = true,
                                        .cluster_launch = true,
                                        .async_copy = true,
                                        .max_threads_per_block = 512,
                                        .max_shared_memory_per_block_bytes = 233472,
                                        .warp_size = 32}};

const char kText[] = R"(
  kind: "webgpu" ordinal: 3 uuid: "GPU-1" name: "Accelerator"
  compute_capability_major: 9 compute_capability_minor: 1
  total_memory_bytes: 1099511627776 free_memory_bytes: 8589934592
  memory_kind: "unified"
  capabilities {
    fp16: true bf16: true fp8: true tensor_cores: true peer_access: true unified_memory: true
    cluster_launch: true async_copy: true
    max_threads_per_block: 512 max_shared_memory_per_block_bytes: 233472 warp_size: 32
  }
)";

v1::Device Parsed(const std::string& text) {
  v1::Device wire;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &wire));
  return wire;
}

TEST(DeviceWireTest, StructBecomesMessage) {
  v1::Device wire;
  ToWire(kInfo, wire);
  EXPECT_EQ(wire.DebugString(), Parsed(kText).DebugString());
  // The ops are not part of DeviceInfo.
  EXPECT_THAT(UnsetFields(wire), ElementsAre("supported_ops"));
}

TEST(DeviceWireTest, MessageBecomesStruct) { EXPECT_EQ(FromWire(Parsed(kText)), kInfo); }

TEST(DeviceWireTest, EachCapabilityIsItsOwn) {
  const auto& descriptor = *v1::Capabilities::descriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const auto* field = descriptor.field(i);
    v1::Capabilities wire;
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_BOOL) {
      wire.GetReflection()->SetBool(&wire, field, true);
    } else {
      wire.GetReflection()->SetInt64(&wire, field, 7);
    }
    v1::Capabilities back;
    ToWire(FromWire(wire), back);
    EXPECT_EQ(back.DebugString(), wire.DebugString());
  }
}

TEST(DeviceWireTest, StructsAndMessagesHaveAsManyFields) {
  const auto count = [](const auto* descriptor) {
    return static_cast<std::size_t>(descriptor->field_count());
  };
  EXPECT_EQ(FieldCount<Capabilities>(), count(v1::Capabilities::descriptor()));
  EXPECT_EQ(FieldCount<DeviceInfo>() + 1, count(v1::Device::descriptor()));
}

TEST(DeviceFromWireTest, WithoutCapabilitiesHasTheDefaultProfile) {
  EXPECT_EQ(FromWire(v1::Device()).capabilities, Capabilities());
}

TEST(DeviceWireTest, FreeMemoryThatNobodyKnowsIsNotSet) {
  v1::Device wire = Parsed(kText);
  DeviceInfo info = kInfo;
  info.free_memory_bytes.reset();
  ToWire(info, wire);
  EXPECT_FALSE(wire.has_free_memory_bytes());
  EXPECT_EQ(FromWire(wire), info);
  info.free_memory_bytes = 0;
  ToWire(info, wire);
  EXPECT_TRUE(wire.has_free_memory_bytes());
  EXPECT_EQ(FromWire(wire), info);
}

TEST(DeviceFromWireTest, UnknownKindsAreNotValid) {
  for (const char* name : {"", "opencl", "invalid"}) {
    v1::Device wire = Parsed(kText);
    wire.set_kind(name);
    wire.set_memory_kind(name);
    EXPECT_FALSE(IsValid(FromWire(wire).kind)) << name;
    EXPECT_FALSE(IsValid(FromWire(wire).memory_kind)) << name;
  }
}

TEST(DeviceToWireTest, NamesBecomeBoundedUtf8) {
  DeviceInfo info = kInfo;
  info.name = "bad \xFF byte";
  info.uuid = std::string(1000, 'x');
  v1::Device wire;
  ToWire(info, wire);
  EXPECT_EQ(wire.name(), "bad ? byte");
  EXPECT_EQ(wire.uuid().size(), kMaxDeviceNameBytes);
}

TEST(OpSetWireTest, EverySetOfOneOpIsItsName) {
  for (std::size_t index = 0; index < kOpCount; ++index) {
    OpSet ops;
    ops.set(index);
    v1::Device wire;
    ToWire(ops, *wire.mutable_supported_ops());
    EXPECT_THAT(wire.supported_ops(), ElementsAre(std::string(OpName(index))));
    EXPECT_EQ(OpSetFromWire(wire.supported_ops()), ops);
  }
}

TEST(OpSetWireTest, AllAndNone) {
  v1::Device wire;
  ToWire(OpSet().set(), *wire.mutable_supported_ops());
  EXPECT_TRUE(OpSetFromWire(wire.supported_ops()).all());
  ToWire(OpSet(), *wire.mutable_supported_ops());
  EXPECT_THAT(wire.supported_ops(), IsEmpty());
  EXPECT_TRUE(OpSetFromWire(wire.supported_ops()).none());
}

TEST(OpSetFromWireTest, UnknownNamesAreLeftOut) {
  v1::Device wire;
  for (const char* name : {"fft", "", "softmax", "Gemm", "softmax"}) wire.add_supported_ops(name);
  OpSet expected;
  expected.set(OpIndex("softmax"));
  EXPECT_EQ(OpSetFromWire(wire.supported_ops()), expected);
}

}  // namespace
}  // namespace acceld
