#include "proto/wire/command_wire.h"

#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(CommandWireTest, AnAllocationKeepsItsFields) {
  const command::Alloc sent{
      .address = 1 << 20, .size_bytes = 77, .mappable = true, .openable = true};
  v1::Command wire;
  ToWire({.action = sent}, wire);
  const absl::StatusOr<Command> command = FromWire(std::move(wire));
  ASSERT_TRUE(command.ok());
  const auto* received = std::get_if<command::Alloc>(&command->action);
  ASSERT_NE(received, nullptr);
  EXPECT_EQ(received->address, sent.address);
  EXPECT_EQ(received->size_bytes, sent.size_bytes);
  EXPECT_TRUE(received->mappable);
  EXPECT_TRUE(received->openable);
}

}  // namespace
}  // namespace acceld
