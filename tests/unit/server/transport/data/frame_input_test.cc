#include "server/transport/data/frame_input.h"

#include "gtest/gtest.h"
#include "proto/frames/command_frame.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/channel/stream_pair.h"
#include "tests/unit/server/transport/data/fake_stream.h"

namespace acceld {
namespace {

constexpr std::uint64_t kMaxFieldBytes = 100'000;

// A frame as it was taken.
struct Taken {
  frames::Header header;
  std::string fields;
  std::string data;
};

std::string TextOf(absl::Span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A frame of any kind.
std::vector<std::byte> Frame(std::uint16_t kind, std::uint64_t number, std::string_view payload) {
  const frames::Header header{
      .payload_bytes = static_cast<std::uint32_t>(payload.size()), .kind = kind, .number = number};
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  std::vector<std::byte> frame(bytes, bytes + sizeof header);
  const auto rest = BytesOf(payload);
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

constexpr std::uint16_t kWriteKind = 2;
constexpr std::uint16_t kOtherKind = 3;

class FrameInputTest : public ::testing::Test {
 protected:
  // Takes all that has arrived and is complete.
  std::vector<Taken> TakeAll() {
    std::vector<Taken> all;
    while (true) {
      absl::StatusOr<std::optional<FrameInput::Frame>> frame = input_.Next();
      if (!frame.ok()) {
        ADD_FAILURE() << frame.status();
        return all;
      }
      if (frame->has_value()) {
        all.push_back({.header = (*frame)->header,
                       .fields = TextOf((*frame)->fields),
                       .data = TextOf({(*frame)->data.get(), (*frame)->data_bytes})});
      } else if (*input_.Fill(stream_) == 0) {
        return all;
      }
    }
  }

  FakeStream stream_;
  FrameInput input_{kMaxFieldBytes};
};

TEST_F(FrameInputTest, NothingIsNoFrame) {
  EXPECT_TRUE(TakeAll().empty());
  EXPECT_FALSE(input_.Partial());
}

TEST_F(FrameInputTest, FramesThatArriveSplitAnywhereAreTheSame) {
  const std::string large(500, 'L');
  std::vector<std::byte> bytes;
  for (const auto& frame : {Frame(kOtherKind, 1, ""), Frame(kWriteKind, 2, "12345678" + large),
                            Frame(kOtherKind, 3, "fields"), Frame(kWriteKind, 4, "12345678")}) {
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  for (std::size_t split = 1; split < bytes.size(); ++split) {
    SCOPED_TRACE(split);
    const auto all = absl::MakeConstSpan(bytes);
    stream_.Arrive(all.subspan(0, split));
    std::vector<Taken> taken = TakeAll();
    stream_.Arrive(all.subspan(split));
    for (Taken& each : TakeAll()) taken.push_back(std::move(each));
    ASSERT_EQ(taken.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(taken[i].header.number, i + 1);
    EXPECT_EQ(taken[0].fields + taken[0].data, "");
    EXPECT_EQ(taken[1].fields, "12345678");
    EXPECT_EQ(taken[1].data, large);
    EXPECT_EQ(taken[2].fields, "fields");
    EXPECT_EQ(taken[3].fields, "12345678");
    EXPECT_EQ(taken[3].data, "");
    EXPECT_FALSE(input_.Partial());
  }
}

TEST_F(FrameInputTest, FramesThatArriveByteByByteAreTheSame) {
  for (const auto& frame : {Frame(kWriteKind, 1, "12345678data"), Frame(kOtherKind, 2, "abc")}) {
    for (const std::byte& each : frame) stream_.Arrive({&each, 1});
  }
  const std::vector<Taken> taken = TakeAll();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].data, "data");
  EXPECT_EQ(taken[1].fields, "abc");
}

TEST_F(FrameInputTest, FieldsLargerThanTheBufferComeWhole) {
  const std::string fields(kMaxFieldBytes, 'f');
  stream_.Arrive(Frame(kOtherKind, 1, fields));
  stream_.Arrive(Frame(kOtherKind, 2, "behind"));
  const std::vector<Taken> taken = TakeAll();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].fields, fields);
  EXPECT_EQ(taken[1].fields, "behind");
}

TEST_F(FrameInputTest, ManyFramesGoThroughTheBuffer) {
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto frame = Frame(kOtherKind, i, std::string(i % 50, 'x'));
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  stream_.Arrive(bytes);
  const std::vector<Taken> taken = TakeAll();
  ASSERT_EQ(taken.size(), 3000u);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(taken[i].header.number, i);
    EXPECT_EQ(taken[i].fields.size(), i % 50);
  }
}

TEST_F(FrameInputTest, TheLargestWriteIsTakenAndALargerOneRefused) {
  const std::string data(frames::kMaxWriteBytes, 'w');
  stream_.Arrive(Frame(kWriteKind, 1, "12345678" + data));
  const std::vector<Taken> taken = TakeAll();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].data, data);
  stream_.Arrive(Frame(kWriteKind, 1, "12345678x" + data));
  ASSERT_TRUE(input_.Fill(stream_).ok());
  const absl::Status status = input_.Next().status();
  EXPECT_THAT(status, IsInvalid("has 1048585 bytes; its fields may have 100000"));
  EXPECT_THAT(status, HasReason(reason::kLimitExceeded));
}

TEST_F(FrameInputTest, FieldsOverTheLimitAreRefusedBeforeTheyArrive) {
  for (const std::uint32_t bytes : {std::uint32_t{kMaxFieldBytes} + 1, ~std::uint32_t{0}}) {
    FrameInput input(kMaxFieldBytes);
    const frames::Header header{.payload_bytes = bytes, .kind = kOtherKind};
    stream_.Arrive({reinterpret_cast<const std::byte*>(&header), sizeof header});
    ASSERT_TRUE(input.Fill(stream_).ok());
    EXPECT_THAT(input.Next().status(), HasReason(reason::kLimitExceeded));
  }
}

TEST_F(FrameInputTest, KnowsWhetherARestIsDue) {
  const auto frame = Frame(kWriteKind, 1, "12345678data");
  const auto all = absl::MakeConstSpan(frame);
  for (const std::size_t split : {std::size_t{1}, sizeof(frames::Header), frame.size() - 1}) {
    stream_.Arrive(all.subspan(0, split));
    EXPECT_TRUE(TakeAll().empty());
    EXPECT_TRUE(input_.Partial());
    stream_.Arrive(all.subspan(split));
    EXPECT_EQ(TakeAll().size(), 1u);
    EXPECT_FALSE(input_.Partial());
  }
}

TEST_F(FrameInputTest, ErrorsAreTheStreams) {
  stream_.broken = absl::UnavailableError("It is broken.");
  EXPECT_EQ(input_.Fill(stream_).status(), stream_.broken);
}

}  // namespace
}  // namespace acceld
