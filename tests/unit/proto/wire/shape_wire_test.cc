#include "proto/wire/shape_wire.h"

#include <string>
#include <vector>

#include "backends/core/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/wire/op_wire.h"
#include "tests/unit/proto/wire/field_count.h"

namespace acceld {
namespace {

using testing::HasSubstr;

WireSizes Sizes(int count) {
  WireSizes sizes;
  sizes.Resize(count, 1);
  return sizes;
}

TEST(ShapeFromWireTest, KeepsTheDimensions) {
  WireSizes wire;
  for (std::int64_t dim : {3, -1, 0, 7}) wire.Add(dim);
  EXPECT_EQ(ShapeFromWire(wire), Shape({3, -1, 0, 7}));
}

TEST(ShapeFromWireTest, TooHighARankIsRefusedByTheOpsCheck) {
  for (int rank : {9, 10, 100'000}) {
    v1::Op wire;
    *wire.mutable_softmax()->mutable_shape() = Sizes(rank);
    const absl::StatusOr<Op> op = FromWire(wire);
    ASSERT_TRUE(op.ok()) << op.status();
    const absl::Status check = CheckParameters(*op);
    EXPECT_EQ(check.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(check.message()), HasSubstr("rank " + std::to_string(rank)));
  }
}

TEST(ShapeFromWireTest, NoDimensionsAreRefusedByTheOpsCheck) {
  v1::Op wire;
  wire.mutable_reduce()->set_op(v1::REDUCE_OP_SUM);
  const absl::StatusOr<Op> op = FromWire(wire);
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ(CheckParameters(*op).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ShapeToWireTest, TooHighARankStaysTooHigh) {
  const Shape shape = ShapeFromWire(Sizes(20));
  WireSizes wire;
  ToWire(shape, wire);
  EXPECT_FALSE(CheckShape(ShapeFromWire(wire), 4, "softmax", "shape").ok());
}

TEST(ShapeToWireTest, ReplacesFormerDimensions) {
  WireSizes wire = Sizes(5);
  ToWire(Shape({2, 3}), wire);
  EXPECT_THAT(std::vector<std::int64_t>(wire.begin(), wire.end()), testing::ElementsAre(2, 3));
}

TEST(Conv2dShapeWireTest, StructAndMessageHaveAsManyFields) {
  EXPECT_EQ(FieldCount<Conv2dShape>(),
            static_cast<std::size_t>(v1::Conv2dShape::descriptor()->field_count()));
}

TEST(Conv2dShapeFromWireTest, RefusesListsOfAnotherLength) {
  const auto& descriptor = *v1::Conv2dShape::descriptor();
  v1::Conv2dShape valid;
  ToWire(Conv2dShape{}, valid);
  ASSERT_TRUE(FromWire(valid, "conv2d_forward").ok());
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const auto* field = descriptor.field(i);
    const int length = valid.GetReflection()->FieldSize(valid, field);
    for (int other : {0, length - 1, length + 1, 1000}) {
      v1::Conv2dShape wire = valid;
      wire.GetReflection()->ClearField(&wire, field);
      for (int j = 0; j < other; ++j) wire.GetReflection()->AddInt64(&wire, field, 1);
      const absl::Status status = FromWire(wire, "conv2d_forward").status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("Argument shape." + field->name() + " of conv2d_forward has " +
                            std::to_string(other) + " elements"));
    }
  }
}

}  // namespace
}  // namespace acceld
