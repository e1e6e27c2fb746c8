#include "backends/registry/builtin.h"

#include "gtest/gtest.h"

namespace acceld {
namespace {

TEST(BuiltinRegistry, OpensTheCpu) {
  const auto opened = BuiltinRegistry({}).Open({});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->kind, BackendKind::kCpu);
  EXPECT_EQ(opened->device->info().kind, BackendKind::kCpu);
}

TEST(BuiltinRegistry, KnowsTheCpuByItsUuid) {
  const Registry registry = BuiltinRegistry({});
  ASSERT_EQ(registry.Find(BackendKind::kCpu)->devices.size(), 1u);
  SelectionRequest request;
  request.device = registry.Find(BackendKind::kCpu)->devices[0].uuid;
  EXPECT_TRUE(registry.Open(request).ok());
}

TEST(BuiltinRegistry, RefusesACpuThatIsNotThere) {
  const Registry registry = BuiltinRegistry({});
  SelectionRequest request;
  request.device = 1;
  EXPECT_EQ(registry.Open(request).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(registry.Find(BackendKind::kCpu)->factory(1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(BuiltinRegistry, SaysWhyCudaIsNotThere) {
  const Registry registry = BuiltinRegistry({});
  EXPECT_FALSE(registry.Find(BackendKind::kCuda)->available);
  EXPECT_NE(registry.Find(BackendKind::kCuda)->reason, "");
}

}  // namespace
}  // namespace acceld
