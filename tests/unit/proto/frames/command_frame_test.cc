#include "proto/frames/command_frame.h"

#include <tuple>

#include "acceld/v1/command.pb.h"
#include "gtest/gtest.h"
#include "proto/frames/fields.h"
#include "proto/wire/command_wire.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/proto/frames/frame_samples.h"
#include "tests/unit/proto/wire/field_count.h"

namespace acceld::frames {
namespace {

// A command in words, by code that frames have nothing to do with.
std::string Words(const Command& command) {
  v1::Command wire;
  ToWire(command, wire);
  return wire.DebugString();
}

TEST(CommandFrameTest, EveryCommandComesBackAsItWas) {
  const std::vector<Command> commands = SampleCommands();
  ASSERT_EQ(commands.size(), kOpCount + kCommandKinds - 1);
  for (const Command& command : commands) {
    SCOPED_TRACE(Words(command));
    std::vector<std::byte> frame;
    Append(command, frame);
    const Header header = HeaderOf(frame);
    EXPECT_EQ(header.kind, command.action.index() + 1);
    EXPECT_EQ(header.number, static_cast<std::uint64_t>(command.stream));
    const auto fields = PayloadOf(frame);
    EXPECT_EQ(fields.size(), FieldBytes(header));
    absl::StatusOr<Command> received = ToCommand(header, fields);
    ASSERT_THAT(received.status(), IsOk());
    if (auto* write = std::get_if<command::Write>(&received->action)) {
      EXPECT_TRUE(write->data.empty());
      EXPECT_EQ(header.payload_bytes, fields.size() + sizeof kWritten);
      write->data = std::get<command::Write>(command.action).data;
    } else {
      EXPECT_EQ(header.payload_bytes, fields.size());
    }
    EXPECT_EQ(Words(*received), Words(command));
  }
}

// The tuple of an alternative has one element a field.
template <typename T>
void ExpectAllFields() {
  using Tuple = decltype(Fields(std::declval<T&>()));
  EXPECT_EQ(std::tuple_size_v<Tuple>, FieldCount<T>()) << typeid(T).name();
}

TEST(CommandFrameTest, EveryFieldOfEveryOpIsCarried) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    (ExpectAllFields<std::variant_alternative_t<kIndex, Op>>(), ...);
  }
  (std::make_index_sequence<kOpCount>());
  ExpectAllFields<Conv2dShape>();
  ExpectAllFields<command::Alloc>();
  ExpectAllFields<command::CreateStream>();
  ExpectAllFields<command::ElapsedTime>();
  ExpectAllFields<command::DefineProgram>();
  ExpectAllFields<command::Replay>();
  ExpectAllFields<Rebinding>();
  ExpectAllFields<SharedCopy>();
}

TEST(CommandFrameTest, FramesAreAppended) {
  std::vector<std::byte> frames;
  Append({.stream = Stream{1}, .action = command::NoOp{}}, frames);
  Append({.stream = Stream{2}, .action = command::Free{7}}, frames);
  ASSERT_EQ(frames.size(), 2 * sizeof(Header) + 8);
  EXPECT_EQ(HeaderOf(frames).payload_bytes, 0u);
  EXPECT_EQ(HeaderOf(absl::MakeConstSpan(frames).subspan(sizeof(Header))).number, 2u);
}

TEST(CommandFrameTest, NumbersThatMakeNoSenseAreForOthersToRefuse) {
  const Shape too_many{1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<std::byte> frame;
  Append({.action = command::Run{ops::Softmax{.shape = too_many, .axis = -1}}}, frame);
  const absl::StatusOr<Command> received = ToCommand(HeaderOf(frame), PayloadOf(frame));
  ASSERT_THAT(received.status(), IsOk());
  const auto& op = std::get<ops::Softmax>(std::get<command::Run>(received->action).op);
  EXPECT_EQ(op.shape.rank(), 9u);
  EXPECT_EQ(op.axis, -1);
  EXPECT_FALSE(CheckParameters(Op(op)).ok());
}

TEST(SharedCopyFrameTest, ComesBackAsItWas) {
  const SharedCopy copy = SampleCopy();
  std::vector<std::byte> frame;
  Append(Kind::kReadShared, Stream{5}, copy, frame);
  EXPECT_EQ(HeaderOf(frame).kind, static_cast<std::uint16_t>(Kind::kReadShared));
  EXPECT_EQ(HeaderOf(frame).number, 5u);
  const absl::StatusOr<SharedCopy> received = ToSharedCopy(PayloadOf(frame));
  ASSERT_THAT(received.status(), IsOk());
  EXPECT_EQ(received->address, copy.address);
  EXPECT_EQ(received->size_bytes, copy.size_bytes);
  EXPECT_EQ(received->host, copy.host);
  EXPECT_EQ(received->host_offset, copy.host_offset);
  EXPECT_TRUE(received->keep_error);
}

TEST(NumberFrameTest, ComesBackAsItWas) {
  std::vector<std::byte> frame;
  Append(Kind::kAllocHost, std::uint64_t{1} << 63, frame);
  EXPECT_EQ(HeaderOf(frame).kind, static_cast<std::uint16_t>(Kind::kAllocHost));
  EXPECT_EQ(*ToNumber(PayloadOf(frame)), std::uint64_t{1} << 63);
}

TEST(ResultFrameTest, EveryResultComesBackAsItWas) {
  for (const CommandResult& result : SampleResults()) {
    std::vector<std::byte> frame;
    Append(17, result, frame);
    EXPECT_EQ(HeaderOf(frame).kind, static_cast<std::uint16_t>(Kind::kResult));
    EXPECT_EQ(HeaderOf(frame).number, 17u);
    const absl::StatusOr<CommandResult> received = ToResult(HeaderOf(frame), PayloadOf(frame));
    ASSERT_THAT(received.status(), IsOk());
    EXPECT_EQ(received->status, result.status);
    EXPECT_EQ(GetReason(received->status), GetReason(result.status));
    EXPECT_EQ(received->value, result.value);
  }
}

TEST(ResultFrameTest, CarriesReasonsThatAreUnknownAndNone) {
  for (const absl::Status& status :
       {absl::UnavailableError("No reason."),
        WithReason(absl::AbortedError("A reason."), "OF_A_NEWER_DAEMON"),
        absl::DataLossError("")}) {
    std::vector<std::byte> frame;
    Append(1, {.status = status, .value = {}}, frame);
    const absl::StatusOr<CommandResult> received = ToResult(HeaderOf(frame), PayloadOf(frame));
    ASSERT_THAT(received.status(), IsOk());
    EXPECT_EQ(received->status, status);
    EXPECT_EQ(GetReason(received->status), GetReason(status));
  }
}

TEST(ResultFrameTest, ALongMessageIsCut) {
  std::vector<std::byte> frame;
  Append(1, {.status = absl::InternalError(std::string(100'000, 'x')), .value = {}}, frame);
  EXPECT_LT(frame.size(), 5000u);
  const absl::StatusOr<CommandResult> received = ToResult(HeaderOf(frame), PayloadOf(frame));
  ASSERT_THAT(received.status(), IsOk());
  EXPECT_EQ(received->status, absl::InternalError(std::string(4096, 'x')));
}

TEST(ResultFrameTest, ACodeThatIsNoneBecomesUnknown) {
  std::vector<std::byte> frame;
  Append(1, {.status = absl::InternalError("It broke."), .value = {}}, frame);
  frame[sizeof(Header)] = std::byte{99};
  const absl::StatusOr<CommandResult> received = ToResult(HeaderOf(frame), PayloadOf(frame));
  ASSERT_THAT(received.status(), IsOk());
  EXPECT_THAT(received->status, IsStatus(absl::StatusCode::kUnknown, "It broke."));
}

TEST(EndFrameTest, CarriesWhyAndIsReadAsAResult) {
  std::vector<std::byte> frame;
  Append(Kind::kEnd, 0, SampleResults().back().status, frame);
  EXPECT_EQ(HeaderOf(frame).kind, static_cast<std::uint16_t>(Kind::kEnd));
  EXPECT_EQ(ToResult(HeaderOf(frame), PayloadOf(frame))->status, SampleResults().back().status);
}

TEST(FinishedFrameTest, IsAHeader) {
  std::vector<std::byte> frame;
  AppendFinished(5, frame);
  ASSERT_EQ(frame.size(), sizeof(Header));
  EXPECT_EQ(HeaderOf(frame).kind, static_cast<std::uint16_t>(Kind::kFinished));
  EXPECT_EQ(HeaderOf(frame).number, 5u);
}

}  // namespace
}  // namespace acceld::frames
