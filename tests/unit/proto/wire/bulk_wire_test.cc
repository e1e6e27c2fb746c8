#include "proto/wire/bulk_wire.h"

#include <random>

#include "acceld/v1/compute.pb.h"
#include "gtest/gtest.h"

namespace acceld {
namespace {

const std::string kData("the bytes \0 of a copy", 21);

std::string Joined(const Pieces& pieces) {
  std::string joined;
  for (const auto& piece : pieces) {
    joined.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return joined;
}

// `message` in pieces of `bytes` bytes, with empty ones between them.
Pieces Cut(const std::string& message, std::size_t bytes) {
  const auto whole =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(message.data()), message.size());
  Pieces pieces(1);
  for (std::size_t start = 0; start < message.size(); start += bytes) {
    pieces.push_back(whole.subspan(start, bytes));
    pieces.emplace_back();
  }
  return pieces;
}

std::string WriteRequest(const std::string& data) {
  v1::WriteRequest request;
  request.set_data(data);
  return request.SerializeAsString();
}

v1::SubmitRequest OneWrite(std::uint64_t stream, Address target) {
  v1::SubmitRequest request;
  v1::Command& command = *request.add_commands();
  command.set_stream(stream);
  command.mutable_write()->set_target(target);
  command.mutable_write()->set_data(kData);
  return request;
}

v1::SubmitResponse OneResult(std::uint64_t finished, std::uint64_t sequence) {
  v1::SubmitResponse response;
  response.set_finished_sequence(finished);
  v1::CommandResult& result = *response.add_results();
  result.set_sequence(sequence);
  result.set_data(kData);
  return response;
}

// What is found in any bytes is what protobuf finds in them.
void ExpectAsProtobuf(const std::string& bytes) {
  const Pieces message = Cut(bytes, 3);
  if (const auto data = FindWriteData(message)) {
    v1::WriteRequest request;
    ASSERT_TRUE(request.ParseFromString(bytes));
    ASSERT_TRUE(request.has_data());
    EXPECT_EQ(Joined(*data), request.data());
  }
  if (const auto write = FindBulkWrite(message)) {
    v1::SubmitRequest request;
    ASSERT_TRUE(request.ParseFromString(bytes));
    EXPECT_EQ(request.session_secret(), "");
    ASSERT_EQ(request.commands_size(), 1);
    const v1::Command& command = request.commands(0);
    ASSERT_TRUE(command.has_write());
    EXPECT_EQ(static_cast<std::uint64_t>(write->stream), command.stream());
    EXPECT_EQ(write->target, command.write().target());
    EXPECT_EQ(Joined(write->data), command.write().data());
  }
  if (const auto result = FindBulkResult(message)) {
    v1::SubmitResponse response;
    ASSERT_TRUE(response.ParseFromString(bytes));
    ASSERT_EQ(response.results_size(), 1);
    EXPECT_EQ(result->finished_sequence, response.finished_sequence());
    EXPECT_EQ(result->sequence, response.results(0).sequence());
    ASSERT_TRUE(response.results(0).has_data());
    EXPECT_EQ(Joined(result->data), response.results(0).data());
  }
}

std::vector<std::string> Messages() {
  std::vector<std::string> messages = {WriteRequest(kData), WriteRequest("")};
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    messages.push_back(OneWrite(number, 256).SerializeAsString());
    messages.push_back(OneWrite(3, number).SerializeAsString());
    messages.push_back(OneResult(number, 1 << 20).SerializeAsString());
    messages.push_back(OneResult(7, number).SerializeAsString());
  }
  return messages;
}

TEST(BulkWireTest, DataIsFoundWhereItLies) {
  const std::string message = WriteRequest(kData);
  for (const std::size_t bytes : {1, 2, 3, 1000}) {
    const auto data = FindWriteData(Cut(message, bytes));
    ASSERT_TRUE(data.has_value());
    EXPECT_EQ(Joined(*data), kData);
    EXPECT_EQ(TotalBytes(*data), kData.size());
    EXPECT_EQ(static_cast<const void*>(data->front().data()),
              message.data() + message.size() - kData.size());
  }
}

TEST(BulkWireTest, EveryPlainMessageIsFoundHoweverItIsCut) {
  for (const std::string& message : Messages()) {
    for (const std::size_t bytes : {1, 2, 5, 1000}) {
      const Pieces pieces = Cut(message, bytes);
      EXPECT_TRUE(FindWriteData(pieces) || FindBulkWrite(pieces) || FindBulkResult(pieces));
    }
    ExpectAsProtobuf(message);
  }
}

TEST(BulkWireTest, PrefixesAreWhatProtobufWrites) {
  const std::uint64_t bytes = kData.size();
  v1::ReadResponse read;
  read.set_data(kData);
  EXPECT_EQ(ReadResponsePrefix(bytes) + kData, read.SerializeAsString());
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{300}, ~std::uint64_t{0}}) {
    EXPECT_EQ(BulkWritePrefix(Stream{number}, number, bytes) + kData,
              OneWrite(number, number).SerializeAsString());
    EXPECT_EQ(BulkResultPrefix(number, number, bytes) + kData,
              OneResult(number, number).SerializeAsString());
  }
}

TEST(BulkWireTest, AppendedCommandsAreARequest) {
  v1::SubmitRequest expected = OneWrite(1, 2);
  expected.add_commands()->mutable_no_op();
  std::string request;
  for (const v1::Command& command : expected.commands()) {
    command.ByteSizeLong();
    AppendCommand(command, request);
  }
  EXPECT_EQ(request, expected.SerializeAsString());
}

TEST(BulkWireTest, OtherMessagesAreLeftToProtobuf) {
  v1::SubmitRequest with_secret = OneWrite(1, 256);
  with_secret.set_session_secret("secret");
  v1::SubmitRequest two = OneWrite(1, 256);
  *two.add_commands() = two.commands(0);
  v1::SubmitRequest no_write;
  no_write.add_commands()->mutable_no_op();
  for (const v1::SubmitRequest& request : {with_secret, two, no_write, v1::SubmitRequest()}) {
    EXPECT_FALSE(FindBulkWrite(Cut(request.SerializeAsString(), 4)).has_value());
  }
  // The last of two wins, which is for protobuf to say.
  EXPECT_FALSE(FindWriteData(Cut(WriteRequest(kData) + WriteRequest("x"), 4)).has_value());
  v1::WriteRequest header;
  header.mutable_header()->set_target(1);
  EXPECT_FALSE(FindWriteData(Cut(header.SerializeAsString(), 4)).has_value());
}

TEST(BulkWireTest, AMessageCutOffAnywhereIsNotFound) {
  for (const std::string& message : Messages()) {
    for (std::size_t end = 0; end < message.size(); ++end) {
      const std::string part = message.substr(0, end);
      const Pieces pieces = Cut(part, 3);
      EXPECT_FALSE(FindBulkWrite(pieces).has_value()) << end;
      EXPECT_FALSE(FindWriteData(pieces).has_value()) << end;
      EXPECT_FALSE(FindBulkResult(pieces).has_value()) << end;
    }
  }
}

TEST(BulkWireTest, LengthsAndNumbersThatProtobufRefusesAreNotFound) {
  for (const char* bytes :
       {"\x12\xff\xff\xff\xff\x0f", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "\x12\x81\x80\x80\x80\x80\x00x", "\x12\x02x", "\x12"}) {
    EXPECT_FALSE(FindWriteData(Cut(bytes, 2)).has_value());
    ExpectAsProtobuf(bytes);
  }
  ExpectAsProtobuf(std::string("\x12\x81\x80\x80\x80\x00x", 7));
}

TEST(BulkWireTest, MutatedBytesAreFoundAsProtobufFindsThem) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> messages = Messages();
  for (int i = 0; i < 200'000; ++i) {
    std::string message = messages[random() % messages.size()];
    for (unsigned change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % (message.size() + 1);
      switch (random() % 3) {
        case 0:
          message.insert(at, 1, static_cast<char>(random()));
          break;
        case 1:
          message.erase(at, random() % 3);
          break;
        default:
          if (at < message.size()) message[at] = static_cast<char>(random());
      }
    }
    ExpectAsProtobuf(message);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(BulkWireTest, RandomBytesDoNoHarm) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 50'000; ++i) {
    std::string message(random() % 40, '\0');
    for (char& byte : message) byte = static_cast<char>(random() % 24);
    ExpectAsProtobuf(message);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace acceld
