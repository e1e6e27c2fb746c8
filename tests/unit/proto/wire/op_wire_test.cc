#include "proto/wire/op_wire.h"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "backends/core/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "proto/wire/ops/ops_wire.h"
#include "tests/unit/proto/wire/field_count.h"
#include "tests/unit/proto/wire/op_cases.h"
#include "tests/unit/proto/wire/unset_fields.h"

namespace acceld {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;
using testing::IsEmpty;

v1::Op Converted(const Op& op) {
  v1::Op wire;
  ToWire(op, wire);
  return wire;
}

// The message of the op that is set in `wire`.
Message& Inner(v1::Op& wire) {
  const auto& reflection = *wire.GetReflection();
  const auto* field = reflection.GetOneofFieldDescriptor(wire, v1::Op::descriptor()->oneof_decl(0));
  return *reflection.MutableMessage(&wire, field);
}

class OpWireTest : public testing::TestWithParam<OpCase> {};

INSTANTIATE_TEST_SUITE_P(Ops, OpWireTest, testing::ValuesIn(OpCases()),
                         [](const testing::TestParamInfo<OpCase>& info) {
                           return std::string(OpName(info.param.op));
                         });

TEST_P(OpWireTest, TheCaseIsValidAndSetsEveryField) {
  EXPECT_EQ(CheckParameters(GetParam().op), absl::OkStatus());
  EXPECT_THAT(UnsetFields(GetParam().Wire()), IsEmpty());
}

TEST_P(OpWireTest, StructBecomesMessage) {
  EXPECT_EQ(Converted(GetParam().op).DebugString(), GetParam().Wire().DebugString());
}

TEST_P(OpWireTest, MessageBecomesStruct) {
  const v1::Op wire = GetParam().Wire();
  const absl::StatusOr<Op> op = FromWire(wire);
  ASSERT_TRUE(op.ok()) << op.status();
  ASSERT_EQ(op->index(), GetParam().op.index());
  EXPECT_TRUE(MessageDifferencer::Equals(Converted(*op), wire)) << Converted(*op).DebugString();
}

TEST_P(OpWireTest, ReplacesWhatTheMessageHeld) {
  for (const OpCase& other : OpCases()) {
    v1::Op wire = other.Wire();
    ToWire(GetParam().op, wire);
    EXPECT_TRUE(MessageDifferencer::Equals(wire, GetParam().Wire())) << other.text;
  }
}

TEST_P(OpWireTest, HasTheNameOfItsField) {
  const v1::Op wire = Converted(GetParam().op);
  const auto* field =
      wire.GetReflection()->GetOneofFieldDescriptor(wire, v1::Op::descriptor()->oneof_decl(0));
  EXPECT_EQ(field->name(), OpName(GetParam().op));
}

TEST_P(OpWireTest, StructAndMessageHaveAsManyFields) {
  v1::Op wire = Converted(GetParam().op);
  const int in_message = Inner(wire).GetDescriptor()->field_count();
  const std::size_t in_struct = std::visit(
      [](const auto& op) { return FieldCount<std::decay_t<decltype(op)>>(); }, GetParam().op);
  EXPECT_EQ(in_struct, static_cast<std::size_t>(in_message));
}

TEST_P(OpWireTest, UnknownEnumNumbersAreRefusedByTheOpsCheck) {
  const v1::Op valid = GetParam().Wire();
  v1::Op wire = valid;
  const auto* descriptor = Inner(wire).GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) continue;
    for (int number : {0, 99, 255, 256, 257, 258, -1, -254, std::numeric_limits<int>::max(),
                       std::numeric_limits<int>::min()}) {
      SCOPED_TRACE(testing::Message() << field->name() << " = " << number);
      wire = valid;
      Message& inner = Inner(wire);
      inner.GetReflection()->SetEnumValue(&inner, field, number);
      const absl::StatusOr<Op> op = FromWire(wire);
      ASSERT_TRUE(op.ok()) << op.status();
      const absl::Status check = CheckParameters(*op);
      EXPECT_EQ(check.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(check.message()), HasSubstr(field->name()));
    }
  }
}

TEST(OpCasesTest, HaveEveryOpOnce) {
  ASSERT_EQ(OpCases().size(), kOpCount);
  for (std::size_t i = 0; i < kOpCount; ++i) EXPECT_EQ(OpCases()[i].op.index(), i);
}

TEST(OpMessageTest, EveryFieldIsAnOpsAndEveryOpHasAField) {
  const auto& oneof = *v1::Op::descriptor()->oneof_decl(0);
  EXPECT_EQ(static_cast<std::size_t>(oneof.field_count()), kOpCount);
  EXPECT_EQ(v1::Op::descriptor()->field_count(), oneof.field_count());
  for (int i = 0; i < oneof.field_count(); ++i) {
    EXPECT_LT(OpIndex(oneof.field(i)->name()), kOpCount) << oneof.field(i)->name();
  }
}

TEST(OpFromWireTest, RefusesAMessageWithoutAnOp) {
  const absl::StatusOr<Op> op = FromWire(v1::Op());
  EXPECT_EQ(op.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(op.status().message()), HasSubstr("names no op this server knows."));
  EXPECT_EQ(GetReason(op.status()), reason::kInvalidArgument);
}

TEST(OpFromWireTest, RefusesAnOpOfANewerPeer) {
  // Field 1000, a message of no bytes.
  v1::Op wire;
  ASSERT_TRUE(wire.ParseFromString(std::string("\xC2\x3E\x00", 3)));
  EXPECT_EQ(FromWire(wire).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(OpFromWireTest, KeepsNumbersThatMakeNoSense) {
  v1::Op wire;
  wire.mutable_gemm()->set_m(-1);
  wire.mutable_gemm()->set_n(std::numeric_limits<std::int64_t>::min());
  wire.mutable_gemm()->set_a(std::numeric_limits<std::uint64_t>::max());
  const absl::StatusOr<Op> op = FromWire(wire);
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ(std::get<ops::Gemm>(*op).m, -1);
  EXPECT_EQ(std::get<ops::Gemm>(*op).n, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(std::get<ops::Gemm>(*op).a, std::numeric_limits<std::uint64_t>::max());
}

TEST(MemsetFromWireTest, RefusesAValueThatIsNoByte) {
  for (std::uint32_t value : {256u, 257u, std::numeric_limits<std::uint32_t>::max()}) {
    v1::Op wire;
    wire.mutable_memset()->set_value(value);
    const absl::Status status = FromWire(wire).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("Argument value of memset is " + std::to_string(value)));
  }
}

TEST(OpFromWireTest, AnOpWithAllFieldsUnsetIsRefusedOrDoesNothing) {
  for (const OpCase& op_case : OpCases()) {
    v1::Op wire = op_case.Wire();
    Inner(wire).Clear();
    const absl::StatusOr<Op> op = FromWire(wire);
    if (!op.ok()) {
      EXPECT_EQ(op.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    // They have neither an enum nor a shape: all zeros are an op that does nothing.
    if (ClassOf(*op) == OpClass::kMemory) continue;
    EXPECT_EQ(CheckParameters(*op).code(), absl::StatusCode::kInvalidArgument) << OpName(*op);
  }
}

}  // namespace
}  // namespace acceld
