#include "backends/null/null_backend.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "backends/core/status.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

// A default op of every type, by its index in Op.
template <std::size_t... kIndex>
std::vector<Op> EveryOp(std::index_sequence<kIndex...>) {
  return {Op(std::in_place_index<kIndex>)...};
}

std::vector<Op> EveryOp() { return EveryOp(std::make_index_sequence<kOpCount>()); }

// What every call but Init, Synchronize and the descriptions returns, by its name.
std::vector<std::pair<std::string, absl::Status>> EveryRefusedCall(NullBackend& backend) {
  std::array<std::byte, 4> bytes{};
  std::vector<std::pair<std::string, absl::Status>> calls = {
      {"alloc", backend.Alloc(4).status()},
      {"free", backend.Free(256)},
      {"copy_htod", backend.CopyHtoD(256, bytes)},
      {"copy_dtoh", backend.CopyDtoH(absl::MakeSpan(bytes), 256)},
      {"alloc_host", backend.AllocHost(4).status()},
      {"free_host", backend.FreeHost(bytes.data())},
      {"map", backend.Map(256).status()},
      {"unmap", backend.Unmap(256)},
      {"export_handle", backend.ExportHandle(256).status()},
      {"import_handle", backend.ImportHandle({}).status()},
      {"create_stream", backend.CreateStream().status()},
      {"destroy_stream", backend.DestroyStream(Stream{1})},
      {"create_event", backend.CreateEvent().status()},
      {"destroy_event", backend.DestroyEvent(Event{1})},
      {"record_event", backend.RecordEvent(Event{1})},
      {"wait_event", backend.WaitEvent(Stream{1}, Event{1})},
      {"query_event", backend.QueryEvent(Event{1}).status()},
      {"synchronize_event", backend.SynchronizeEvent(Event{1})},
      {"elapsed_time", backend.ElapsedTime(Event{1}, Event{2}).status()},
      {"synchronize_stream", backend.SynchronizeStream(kDefaultStream)},
      {"begin_recording", backend.BeginRecording(kDefaultStream)},
      {"end_recording", backend.EndRecording(kDefaultStream).status()},
      {"replay", backend.Replay(Program{1})},
      {"destroy_program", backend.DestroyProgram(Program{1})},
  };
  for (Op& op : EveryOp()) {
    std::string name(OpName(op));
    calls.emplace_back(std::move(name), backend.Run(std::move(op)));
  }
  return calls;
}

TEST(NullBackend, AcceptsInitAgainAndAgainAndSynchronize) {
  NullBackend backend;
  EXPECT_FALSE(backend.initialized());
  EXPECT_TRUE(backend.Init().ok());
  EXPECT_TRUE(backend.Init().ok());
  EXPECT_TRUE(backend.initialized());
  EXPECT_TRUE(backend.Synchronize().ok());
}

TEST(NullBackend, RefusesEveryOtherCallWithUnsupported) {
  NullBackend backend;
  ASSERT_TRUE(backend.Init().ok());
  for (const auto& [name, status] : EveryRefusedCall(backend)) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << name;
    EXPECT_EQ(GetReason(status), reason::kUnsupported) << name;
    EXPECT_EQ(std::string(status.message()), "The null backend does not support " + name + ".");
  }
}

TEST(NullBackend, RefusesAnOpThroughItsHelper) {
  NullBackend backend;
  ASSERT_TRUE(backend.Init().ok());
  EXPECT_EQ(backend.Gemm({.m = 1, .n = 1, .k = 1}).code(), absl::StatusCode::kUnimplemented);
}

TEST(NullBackend, IsNotInitializedBeforeInit) {
  NullBackend backend;
  for (const auto& [name, status] : EveryRefusedCall(backend)) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_EQ(GetReason(status), reason::kNotInitialized) << name;
  }
  EXPECT_EQ(backend.Synchronize().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(NullBackend, DescribesItselfWithoutInit) {
  const NullBackend backend;
  EXPECT_EQ(backend.name(), "null");
  EXPECT_EQ(backend.capabilities(), Capabilities());
  EXPECT_TRUE(backend.devices().empty());
  EXPECT_EQ(backend.RecommendedTile(64, 100, 100), (Tile{16, 16, 16}));
  EXPECT_EQ(backend.RecommendedTile(1024, 1024, 1024), (Tile{128, 128, 8}));
}

}  // namespace
}  // namespace acceld
