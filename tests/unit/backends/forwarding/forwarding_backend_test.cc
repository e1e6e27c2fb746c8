#include "backends/forwarding/forwarding_backend.h"

#include <array>
#include <chrono>

#include "backends/core/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

using ::testing::ByMove;
using ::testing::Field;
using ::testing::Return;
using ::testing::StrictMock;
using ::testing::VariantWith;

class MockBackend : public ComputeBackend {
 public:
  MOCK_METHOD(absl::Status, Init, (), (override));
  MOCK_METHOD(absl::StatusOr<Address>, Alloc, (std::uint64_t, const AllocOptions&), (override));
  MOCK_METHOD(absl::Status, Free, (Address), (override));
  MOCK_METHOD(absl::Status, CopyHtoD, (Address, absl::Span<const std::byte>, std::optional<Stream>),
              (override));
  MOCK_METHOD(absl::Status, CopyDtoH, (absl::Span<std::byte>, Address, std::optional<Stream>),
              (override));
  MOCK_METHOD(absl::StatusOr<absl::Span<std::byte>>, AllocHost, (std::uint64_t), (override));
  MOCK_METHOD(absl::Status, FreeHost, (std::byte*), (override));
  MOCK_METHOD(absl::StatusOr<absl::Span<std::byte>>, Map, (Address), (override));
  MOCK_METHOD(absl::Status, Unmap, (Address), (override));
  MOCK_METHOD(absl::StatusOr<ShareableHandle>, ExportHandle, (Address), (override));
  MOCK_METHOD(absl::StatusOr<Address>, ImportHandle, (const ShareableHandle&), (override));
  MOCK_METHOD(absl::Status, Run, (Op, Stream), (override));
  MOCK_METHOD(absl::StatusOr<Stream>, CreateStream, (const StreamOptions&), (override));
  MOCK_METHOD(absl::Status, DestroyStream, (Stream), (override));
  MOCK_METHOD(absl::StatusOr<Event>, CreateEvent, (), (override));
  MOCK_METHOD(absl::Status, DestroyEvent, (Event), (override));
  MOCK_METHOD(absl::Status, RecordEvent, (Event, Stream), (override));
  MOCK_METHOD(absl::Status, WaitEvent, (Stream, Event), (override));
  MOCK_METHOD(absl::StatusOr<bool>, QueryEvent, (Event), (override));
  MOCK_METHOD(absl::Status, SynchronizeEvent, (Event), (override));
  MOCK_METHOD(absl::StatusOr<std::chrono::nanoseconds>, ElapsedTime, (Event, Event), (override));
  MOCK_METHOD(absl::Status, SynchronizeStream, (Stream), (override));
  MOCK_METHOD(absl::Status, Synchronize, (), (override));
  MOCK_METHOD(absl::Status, BeginRecording, (Stream), (override));
  MOCK_METHOD(absl::StatusOr<Program>, EndRecording, (Stream), (override));
  MOCK_METHOD(absl::Status, Replay, (Program, absl::Span<const Rebinding>, Stream), (override));
  MOCK_METHOD(absl::Status, DestroyProgram, (Program), (override));
  MOCK_METHOD(std::string, name, (), (const, override));
  MOCK_METHOD(bool, initialized, (), (const, override));
  MOCK_METHOD(Capabilities, capabilities, (), (const, override));
  MOCK_METHOD(std::vector<DeviceInfo>, devices, (), (const, override));
  MOCK_METHOD(Tile, RecommendedTile, (std::int64_t, std::int64_t, std::int64_t), (const, override));
};

// Each test says what reaches the target and what it returns; anything else fails.
class ForwardingBackendTest : public ::testing::Test {
 protected:
  StrictMock<MockBackend> target_;
  ForwardingBackend backend_{target_};
  // What the target returns: unlike anything a wrapper would make up.
  const absl::Status error_ = DeviceError("The target says so.");
  std::array<std::byte, 4> bytes_{};
};

TEST_F(ForwardingBackendTest, ForwardsInit) {
  EXPECT_CALL(target_, Init()).WillOnce(Return(error_));
  EXPECT_EQ(backend_.Init(), error_);
}

TEST_F(ForwardingBackendTest, ForwardsMemory) {
  EXPECT_CALL(target_, Alloc(77, Field(&AllocOptions::mappable, true))).WillOnce(Return(512));
  EXPECT_CALL(target_, Free(256)).WillOnce(Return(error_));
  EXPECT_CALL(target_, AllocHost(5)).WillOnce(Return(absl::MakeSpan(bytes_)));
  EXPECT_CALL(target_, FreeHost(bytes_.data())).WillOnce(Return(error_));
  EXPECT_CALL(target_, Map(768)).WillOnce(Return(absl::MakeSpan(bytes_)));
  EXPECT_CALL(target_, Unmap(769)).WillOnce(Return(error_));
  EXPECT_CALL(target_, ExportHandle(770))
      .WillOnce(Return(ByMove(ShareableHandle{.size_bytes = 771})));
  EXPECT_CALL(target_, ImportHandle(Field(&ShareableHandle::size_bytes, 772)))
      .WillOnce(Return(773));
  EXPECT_EQ(*backend_.Alloc(77, {.mappable = true}), 512u);
  EXPECT_EQ(backend_.Free(256), error_);
  EXPECT_EQ(backend_.AllocHost(5)->data(), bytes_.data());
  EXPECT_EQ(backend_.FreeHost(bytes_.data()), error_);
  EXPECT_EQ(backend_.Map(768)->data(), bytes_.data());
  EXPECT_EQ(backend_.Unmap(769), error_);
  EXPECT_EQ(backend_.ExportHandle(770)->size_bytes, 771u);
  EXPECT_EQ(*backend_.ImportHandle({.size_bytes = 772}), 773u);
}

TEST_F(ForwardingBackendTest, ForwardsCopiesWithAndWithoutAStream) {
  const auto data = [this](auto span) { return span.data() == bytes_.data() && span.size() == 4; };
  EXPECT_CALL(target_, CopyHtoD(1, ::testing::Truly(data), std::optional<Stream>(Stream{9})))
      .WillOnce(Return(error_));
  EXPECT_CALL(target_, CopyHtoD(2, ::testing::Truly(data), std::optional<Stream>()))
      .WillOnce(Return(error_));
  EXPECT_CALL(target_, CopyDtoH(::testing::Truly(data), 3, std::optional<Stream>(Stream{8})))
      .WillOnce(Return(error_));
  EXPECT_CALL(target_, CopyDtoH(::testing::Truly(data), 4, std::optional<Stream>()))
      .WillOnce(Return(error_));
  EXPECT_EQ(backend_.CopyHtoD(1, bytes_, Stream{9}), error_);
  EXPECT_EQ(backend_.CopyHtoD(2, bytes_), error_);
  EXPECT_EQ(backend_.CopyDtoH(absl::MakeSpan(bytes_), 3, Stream{8}), error_);
  EXPECT_EQ(backend_.CopyDtoH(absl::MakeSpan(bytes_), 4), error_);
}

TEST_F(ForwardingBackendTest, ForwardsOpsWithTheirStream) {
  EXPECT_CALL(target_, Run(VariantWith<ops::Unary>(Field(&ops::Unary::n, 11)), Stream{3}))
      .WillOnce(Return(error_));
  EXPECT_EQ(backend_.Unary({.n = 11}, Stream{3}), error_);
}

TEST_F(ForwardingBackendTest, ForwardsStreams) {
  EXPECT_CALL(target_, CreateStream(Field(&StreamOptions::priority, -2)))
      .WillOnce(Return(Stream{6}));
  EXPECT_CALL(target_, DestroyStream(Stream{7})).WillOnce(Return(error_));
  EXPECT_CALL(target_, SynchronizeStream(Stream{8})).WillOnce(Return(error_));
  EXPECT_CALL(target_, Synchronize()).WillOnce(Return(error_));
  EXPECT_EQ(*backend_.CreateStream({.priority = -2}), Stream{6});
  EXPECT_EQ(backend_.DestroyStream(Stream{7}), error_);
  EXPECT_EQ(backend_.SynchronizeStream(Stream{8}), error_);
  EXPECT_EQ(backend_.Synchronize(), error_);
}

TEST_F(ForwardingBackendTest, ForwardsEvents) {
  EXPECT_CALL(target_, CreateEvent()).WillOnce(Return(Event{1}));
  EXPECT_CALL(target_, DestroyEvent(Event{2})).WillOnce(Return(error_));
  EXPECT_CALL(target_, RecordEvent(Event{3}, Stream{4})).WillOnce(Return(error_));
  EXPECT_CALL(target_, WaitEvent(Stream{5}, Event{6})).WillOnce(Return(error_));
  EXPECT_CALL(target_, QueryEvent(Event{7})).WillOnce(Return(true));
  EXPECT_CALL(target_, SynchronizeEvent(Event{8})).WillOnce(Return(error_));
  EXPECT_CALL(target_, ElapsedTime(Event{9}, Event{10}))
      .WillOnce(Return(std::chrono::nanoseconds(11)));
  EXPECT_EQ(*backend_.CreateEvent(), Event{1});
  EXPECT_EQ(backend_.DestroyEvent(Event{2}), error_);
  EXPECT_EQ(backend_.RecordEvent(Event{3}, Stream{4}), error_);
  EXPECT_EQ(backend_.WaitEvent(Stream{5}, Event{6}), error_);
  EXPECT_TRUE(*backend_.QueryEvent(Event{7}));
  EXPECT_EQ(backend_.SynchronizeEvent(Event{8}), error_);
  EXPECT_EQ(backend_.ElapsedTime(Event{9}, Event{10})->count(), 11);
}

TEST_F(ForwardingBackendTest, ForwardsPrograms) {
  const Rebinding rebinding{.recorded = 12, .replacement = 13};
  const auto same = [&](auto span) { return span.data() == &rebinding && span.size() == 1; };
  EXPECT_CALL(target_, BeginRecording(Stream{1})).WillOnce(Return(error_));
  EXPECT_CALL(target_, EndRecording(Stream{2})).WillOnce(Return(Program{3}));
  EXPECT_CALL(target_, Replay(Program{4}, ::testing::Truly(same), Stream{5}))
      .WillOnce(Return(error_));
  EXPECT_CALL(target_, DestroyProgram(Program{6})).WillOnce(Return(error_));
  EXPECT_EQ(backend_.BeginRecording(Stream{1}), error_);
  EXPECT_EQ(*backend_.EndRecording(Stream{2}), Program{3});
  EXPECT_EQ(backend_.Replay(Program{4}, absl::MakeConstSpan(&rebinding, 1), Stream{5}), error_);
  EXPECT_EQ(backend_.DestroyProgram(Program{6}), error_);
}

TEST_F(ForwardingBackendTest, ForwardsDescriptions) {
  Capabilities capabilities;
  capabilities.fp8 = true;
  DeviceInfo device;
  device.name = "target";
  EXPECT_CALL(target_, name()).WillOnce(Return("target"));
  EXPECT_CALL(target_, initialized()).WillOnce(Return(true));
  EXPECT_CALL(target_, capabilities()).WillOnce(Return(capabilities));
  EXPECT_CALL(target_, devices()).WillOnce(Return(std::vector<DeviceInfo>{device}));
  EXPECT_CALL(target_, RecommendedTile(1, 2, 3)).WillOnce(Return(Tile{4, 5, 6}));
  EXPECT_EQ(backend_.name(), "target");
  EXPECT_TRUE(backend_.initialized());
  EXPECT_EQ(backend_.capabilities(), capabilities);
  EXPECT_EQ(backend_.devices(), std::vector<DeviceInfo>{device});
  EXPECT_EQ(backend_.RecommendedTile(1, 2, 3), (Tile{4, 5, 6}));
}

// A wrapper that overrides Run alone.
class RefusingBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  absl::Status Run(Op op, Stream stream) override {
    if (ClassOf(op) == OpClass::kMatmul) return UnsupportedError("No products here.");
    return ForwardingBackend::Run(std::move(op), stream);
  }
};

TEST(ForwardingBackendSubclass, ChangesOnlyWhatItOverrides) {
  StrictMock<MockBackend> target;
  EXPECT_CALL(target, Run(VariantWith<ops::Memset>(Field(&ops::Memset::bytes, 3)), kDefaultStream))
      .WillOnce(Return(absl::OkStatus()));
  RefusingBackend refusing(target);
  ComputeBackend& backend = refusing;
  EXPECT_EQ(backend.Gemm({.m = 1}).code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(backend.Memset(256, 0, 3).ok());
}

TEST(ForwardingBackendSubclass, WrapsAWrapperByReference) {
  StrictMock<MockBackend> target;
  EXPECT_CALL(target, Synchronize()).WillOnce(Return(absl::OkStatus()));
  ForwardingBackend inner(target);
  ForwardingBackend outer(static_cast<ComputeBackend&>(inner));
  EXPECT_TRUE(outer.Synchronize().ok());
}

}  // namespace
}  // namespace acceld
