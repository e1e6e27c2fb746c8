#include "backends/registry/plugin_loader.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Folder(const std::string& name) { return "tests/testing/plugins/" + name; }

absl::Status LoadStatus(const std::string& name) {
  return LoadPlugin(Folder(name) + "/libacceld_cuda.so").status();
}

auto IsRefused(std::string part) {
  return IsStatus(absl::StatusCode::kFailedPrecondition, std::move(part));
}

TEST(PluginLoader, LoadsAPluginOnce) {
  const std::string path = Folder("two_devices/libacceld_cuda.so");
  const absl::StatusOr<const Plugin*> plugin = LoadPlugin(path);
  ASSERT_THAT(plugin.status(), IsOk());
  EXPECT_EQ((*plugin)->kind, BackendKind::kCuda);
  EXPECT_EQ(*LoadPlugin(path), *plugin);
}

TEST(PluginLoader, RefusesWhatIsNoPluginOfThisBuild) {
  EXPECT_THAT(LoadStatus("other_build"), IsRefused("it is of another build of acceld, 0123, and"));
  EXPECT_THAT(LoadStatus("other_interface"), IsRefused("it is a plugin of interface 99"));
  EXPECT_THAT(LoadStatus("no_plugin"), IsRefused("it has no function acceld_plugin."));
  EXPECT_THAT(LoadStatus("nowhere"), IsRefused("No such file"));
}

TEST(PluginLoader, RefusesAFileThatIsNoLibrary) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/libacceld_cuda.so";
  std::ofstream(path) << "text";
  EXPECT_THAT(LoadPlugin(path).status(), AllOf(IsRefused(path), IsRefused("file too short")));
}

TEST(RegisterPlugins, BringsDevices) {
  Registry registry = Registry::WithDefaults();
  const auto plugins = RegisterPlugins({Folder("two_devices")}, registry);
  registry.ProbeAll();
  ASSERT_EQ(plugins.size(), 1u);
  EXPECT_THAT(plugins[0].status, IsOk());
  EXPECT_THAT(plugins[0].path, EndsWith("two_devices/libacceld_cuda.so"));
  const RegistryEntry& cuda = *registry.Find(BackendKind::kCuda);
  EXPECT_TRUE(cuda.available);
  EXPECT_EQ(cuda.devices.size(), 2u);
  const absl::StatusOr<OpenedDevice> opened =
      registry.Open({.kind = BackendKind::kCuda, .device = 1});
  ASSERT_THAT(opened.status(), IsOk());
  EXPECT_EQ(opened->device->info().ordinal, 1);
}

TEST(RegisterPlugins, HandsEachKindItsOptions) {
  Registry registry = Registry::WithDefaults();
  RegisterPlugins({Folder("two_devices")}, registry,
                  {{BackendKind::kRocm, {.memory_limit_bytes = 1}},
                   {BackendKind::kCuda, {.memory_limit_bytes = 12345}}});
  registry.ProbeAll();
  EXPECT_EQ(registry.Find(BackendKind::kCuda)->devices[1].total_memory_bytes, 12345u);
  const absl::StatusOr<OpenedDevice> opened = registry.Open({.kind = BackendKind::kCuda});
  ASSERT_THAT(opened.status(), IsOk());
  EXPECT_EQ(opened->device->info().total_memory_bytes, 12345u);
}

TEST(RegisterPlugins, KeepsTheReasonWhyThereAreNone) {
  Registry registry = Registry::WithDefaults();
  const auto plugins = RegisterPlugins({Folder("no_device")}, registry);
  registry.ProbeAll();
  ASSERT_EQ(plugins.size(), 1u);
  EXPECT_THAT(plugins[0].status, IsOk());
  EXPECT_FALSE(registry.Find(BackendKind::kCuda)->available);
  EXPECT_EQ(registry.Find(BackendKind::kCuda)->reason, "There is no CUDA device: this is a test.");
}

TEST(RegisterPlugins, KeepsTheReasonWhyOneIsRefused) {
  Registry registry = Registry::WithDefaults();
  const auto plugins = RegisterPlugins({Folder("other_build")}, registry);
  registry.ProbeAll();
  ASSERT_EQ(plugins.size(), 1u);
  EXPECT_THAT(plugins[0].status, IsRefused("another build"));
  EXPECT_FALSE(registry.Find(BackendKind::kCuda)->available);
  EXPECT_THAT(
      registry.Find(BackendKind::kCuda)->reason,
      AllOf(HasSubstr("other_build/libacceld_cuda.so cannot be used"), HasSubstr("another build")));
}

TEST(RegisterPlugins, RefusesOneWhoseDevicesAreOfAnotherKind) {
  Registry registry = Registry::WithDefaults();
  RegisterPlugins({Folder("other_kind")}, registry);
  registry.ProbeAll();
  EXPECT_THAT(registry.Find(BackendKind::kRocm)->reason,
              HasSubstr("its devices are cuda, not rocm"));
}

TEST(RegisterPlugins, TakesTheFirstFolderThatHasOne) {
  Registry registry = Registry::WithDefaults();
  const auto plugins =
      RegisterPlugins({Folder("nowhere"), Folder("no_device"), Folder("two_devices")}, registry);
  ASSERT_EQ(plugins.size(), 1u);
  EXPECT_THAT(plugins[0].path, HasSubstr("no_device"));
}

TEST(RegisterPlugins, SaysWhatIsNotThere) {
  Registry registry = Registry::WithDefaults();
  EXPECT_THAT(RegisterPlugins({"/nowhere", "/elsewhere"}, registry), IsEmpty());
  registry.ProbeAll();
  EXPECT_EQ(registry.Find(BackendKind::kCuda)->reason, "There is no plugin libacceld_cuda.so.");
  EXPECT_TRUE(registry.Find(BackendKind::kCpu)->available);
}

TEST(DefaultPluginFolders, AreNextToTheProgram) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_THAT(DefaultPluginFolders(),
              ElementsAre(program.parent_path().string(), EndsWith("/lib/acceld")));
}

}  // namespace
}  // namespace acceld
