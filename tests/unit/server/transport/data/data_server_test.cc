// A daemon's data channels, and clients that speak raw frames with them.
#include "server/transport/data/data_server.h"

#include <latch>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/server/transport/data/data_test_base.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DataServerTest : public DataTestBase {
 protected:
  DataServerTest() { Start({}); }
  ~DataServerTest() override {
    if (device_ != nullptr) device_->OpenGate();
    Stop();
  }

  void Start(const SessionLimits& limits,
             std::chrono::milliseconds handshake_timeout = std::chrono::minutes(1)) {
    Stop();
    table_.emplace(*pool_, limits);
    server_ = *DataServer::Start(*table_, limits, handshake_timeout);
  }
  void Stop() {
    if (!table_.has_value()) return;
    for (const auto& session : table_->List()) {
      table_->End(*session, absl::CancelledError("The test is over."));
    }
    server_.reset();
    table_.reset();
  }
  // A connection that has said nothing yet.
  DataClient Connect(uid_t uid = 1000) {
    SocketPair sockets;
    server_->Serve(std::move(sockets.second), NextPeer(uid));
    return DataClient(std::move(sockets.first));
  }
  // One that is open, over rings or the socket.
  DataClient Attach(Session& session, bool shared_memory) {
    DataClient client = Connect();
    client.Say(DataClient::MakeHello(session.info().secret, shared_memory));
    EXPECT_EQ(client.Welcome().kind(), frames::Kind::kWelcome);
    EXPECT_EQ(client.ring() != nullptr, shared_memory);
    return client;
  }

  std::optional<SessionTable> table_;
  std::unique_ptr<DataServer> server_;
};

// All but the progress.
std::vector<std::string> AnswersOf(std::vector<ReceivedFrame> frames) {
  std::erase_if(frames, [](const auto& each) { return each.kind() == frames::Kind::kFinished; });
  return WordsOf(frames);
}

// Over the socket, and over rings.
class DataServerWaysTest : public DataServerTest, public ::testing::WithParamInterface<bool> {
 protected:
  DataClient AttachTo(Session& session) { return Attach(session, GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Ways, DataServerWaysTest, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Rings" : "Socket");
});

TEST_P(DataServerWaysTest, SaysHowCommandsTravel) {
  const auto session = Open(*table_);
  DataClient client = Connect();
  client.Say(DataClient::MakeHello(session->info().secret, GetParam()));
  const ReceivedFrame welcome = client.Welcome();
  frames::Unpacker unpacker(welcome.payload);
  frames::Welcome rings;
  std::string transport;
  std::string note;
  unpacker.Take(rings.ring_bytes);
  unpacker.Take(rings.staging_bytes);
  unpacker.Take(transport);
  unpacker.Take(note);
  EXPECT_TRUE(unpacker.Done());
  EXPECT_EQ(rings.ring_bytes, GetParam() ? SessionLimits().ring_bytes : 0u);
  EXPECT_EQ(rings.staging_bytes, GetParam() ? SessionLimits().staging_bytes : 0u);
  EXPECT_EQ(transport, GetParam() ? "shm" : "frames+unix");
  EXPECT_EQ(note, "");
  client.Send({Synchronize()});
  client.UntilFinished(1);
  EXPECT_EQ(session->transport(), transport);
  EXPECT_EQ(session->connection_id(), connections_);
}

TEST_P(DataServerWaysTest, AnswersCommandsThatHaveSomethingToSay) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  client.Send({Alloc(16), Fill('x', 16), Wrong(), Synchronize()});
  const auto answers = client.UntilFinished(4);
  EXPECT_THAT(WordsOf(answers), ElementsAre("result 1", "result 3", "result 4", "finished 4"));
  EXPECT_EQ(answers[0].result().value, CommandValue(kAddress));
  EXPECT_THAT(answers[1].result().status, HasReason(reason::kUnknownAddress));
  EXPECT_THAT(answers[2].result().status, IsOk());
}

TEST_P(DataServerWaysTest, WritesAndReadsBytes) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  const std::string text = "0123456789abcdef";
  client.Send({Alloc(16),
               {.action = command::Write{.target = kAddress, .data = BytesOf(text)}},
               Read(16),
               Read(0)});
  EXPECT_THAT(AnswersOf(client.UntilFinished(4)),
              ElementsAre("result 1", "data 3: " + text, "data 4: "));
}

TEST_P(DataServerWaysTest, ALargeCopyGoesThroughInPieces) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  const std::string text(frames::kMaxWriteBytes, 'w');
  client.Send({Alloc(text.size()),
               {.action = command::Write{.target = kAddress, .data = BytesOf(text)}},
               Read(text.size())});
  EXPECT_THAT(AnswersOf(client.UntilFinished(3)), ElementsAre("result 1", "data 3: " + text));
}

TEST_P(DataServerWaysTest, AReadOverTheLimitIsAnErrorOfTheCommand) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  client.Send({Read(std::uint64_t{1} << 40), Synchronize()});
  const auto answers = client.UntilFinished(2);
  EXPECT_THAT(answers[0].result().status, HasReason(reason::kLimitExceeded));
  EXPECT_THAT(answers[1].result().status, IsOk());
}

TEST_P(DataServerWaysTest, ALargeAllocationKeepsItsPlaceInTheOrder) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  client.Send({Alloc(8 << 20),
               Fill(1, 8 << 20),
               {.action = command::Free{kAddress}},
               Wrong(),
               Synchronize()});
  const auto answers = client.UntilFinished(5);
  for (const ReceivedFrame& each : answers) {
    if (each.kind() != frames::Kind::kResult) continue;
    EXPECT_EQ(each.result().status.ok(), each.header.number != 4) << each.Words();
  }
}

TEST_P(DataServerWaysTest, OtherClientsDoNotWaitForAnAllocationThatDoes) {
  std::latch allocates(1);
  std::latch may_go_on(1);
  on_allocate_ = [&] {
    allocates.count_down();
    may_go_on.wait();
  };
  const auto session = Open(*table_);
  const auto other_session = Open(*table_);
  DataClient client = AttachTo(*session);
  DataClient other = AttachTo(*other_session);
  client.Send({Alloc(16), Fill(1, 16), Synchronize()});
  allocates.wait();
  other.Send({Synchronize()});
  EXPECT_THAT(WordsOf(other.UntilFinished(1)), ElementsAre("result 1", "finished 1"));
  may_go_on.count_down();
  EXPECT_THAT(AnswersOf(client.UntilFinished(3)), ElementsAre("result 1", "result 3"));
}

TEST_P(DataServerWaysTest, ASynchronizationIsAnsweredBeforeWhatIsUnderWayElsewhere) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  const Stream other{5};
  client.Send({Alloc(16), {.action = command::CreateStream{.stream = other}}, Synchronize()});
  client.UntilFinished(3);
  device_->CloseGate();
  client.Send({Fill(1, 16), {.stream = other, .action = command::SynchronizeStream{}}});
  EXPECT_EQ(client.Next().Words(), "result 5");
  device_->OpenGate();
  EXPECT_EQ(client.Next().Words(), "finished 5");
}

TEST_P(DataServerWaysTest, NoMoreCommandsAreTakenThanMayBeInFlight) {
  Start({.commands_in_flight = 4});
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  client.Send({Alloc(16)});
  client.UntilFinished(1);
  device_->CloseGate();
  client.Send(std::vector<Command>(20, Fill(1, 16)));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (session->in_flight() < 4 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(session->in_flight(), 4u);
  device_->OpenGate();
  EXPECT_EQ(client.UntilFinished(21).back().Words(), "finished 21");
  EXPECT_EQ(session->ops(), 20u);
}

TEST_P(DataServerWaysTest, BytesInFlightAreLimitedToo) {
  Start({.bytes_in_flight = 1});
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  std::vector<Command> commands = {Alloc(64 << 10)};
  for (int i = 0; i < 50; ++i) commands.push_back(Read(64 << 10));
  std::thread sender([&] { client.Send(commands); });
  sender.join();
  EXPECT_EQ(client.UntilFinished(51).back().Words(), "finished 51");
}

TEST_P(DataServerWaysTest, AClientThatDoesNotReadIsNotReadFromAndGoesOnOnceItReads) {
  Start({.ring_bytes = 4096});
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  constexpr std::uint64_t kCommands = 100'000;
  std::vector<std::byte> wrong;
  frames::Append(Wrong(), wrong);
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < kCommands; ++i)
    bytes.insert(bytes.end(), wrong.begin(), wrong.end());
  absl::Span<const std::byte> rest = bytes;
  // The daemon keeps no more than so many answers for a client.
  while (!rest.empty()) {
    const absl::StatusOr<std::size_t> sent = client.stream().Write(rest);
    ASSERT_THAT(sent.status(), IsOk());
    rest.remove_prefix(*sent);
    if (*sent == 0 && !client.AwaitRoom(/*timeout_ms=*/300)) break;
  }
  ASSERT_FALSE(rest.empty());
  // Reading makes room for the rest. As a client that waits does, each side of it in its turn.
  std::uint64_t results = 0;
  while (results < kCommands) {
    if (!rest.empty()) {
      const absl::StatusOr<std::size_t> sent = client.stream().Write(rest);
      ASSERT_THAT(sent.status(), IsOk());
      rest.remove_prefix(*sent);
    }
    const ReceivedFrame frame = client.Next();
    ASSERT_NE(frame.header.kind, 0) << "after " << results << " results";
    if (frame.kind() == frames::Kind::kResult) ++results;
  }
}

TEST_P(DataServerWaysTest, WhatIsNoFrameEndsTheSessionAndSaysWhy) {
  const auto session = Open(*table_);
  const auto other = Open(*table_);
  DataClient client = AttachTo(*session);
  DataClient bystander = AttachTo(*other);
  const Outcome<absl::Status> ended = OnEnd(*session);
  std::vector<std::byte> garbage(64, std::byte{0x11});
  client.Send(absl::MakeConstSpan(garbage));
  const ReceivedFrame end = client.Next();
  EXPECT_EQ(end.Words(), "end");
  EXPECT_EQ(end.result().status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ended.Get().code(), absl::StatusCode::kInvalidArgument);
  bystander.Send({Synchronize()});
  EXPECT_EQ(bystander.UntilFinished(1).back().Words(), "finished 1");
}

TEST_P(DataServerWaysTest, AKindThatOnlyTheDaemonSendsEndsTheSession) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  std::vector<std::byte> frame;
  frames::AppendFinished(1, frame);
  client.Send(absl::MakeConstSpan(frame));
  EXPECT_THAT(std::string(client.Next().result().status.message()),
              HasSubstr("A frame of kind 128 is none that a client may send here."));
}

TEST_P(DataServerWaysTest, ASessionThatEndsElsewhereTellsWhy) {
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  table_->End(*session, WithReason(absl::CancelledError("An administrator says so."), "SO"));
  const ReceivedFrame end = client.Next();
  EXPECT_EQ(end.Words(), "end");
  EXPECT_THAT(end.result().status,
              IsStatus(absl::StatusCode::kCancelled, "An administrator says so."));
  EXPECT_THAT(end.result().status, HasReason("SO"));
}

TEST_P(DataServerWaysTest, AClientThatClosesEndsItsSessionAndLeavesNothing) {
  const auto session = Open(*table_);
  const Outcome<absl::Status> ended = OnEnd(*session);
  {
    DataClient client = AttachTo(*session);
    client.Send({Alloc(1000), Synchronize()});
    client.UntilFinished(2);
    device_->CloseGate();
    client.Send({Fill(1, 1000)});
  }
  EXPECT_FALSE(ended.Get().ok());
  device_->OpenGate();
  server_->AwaitClosed(std::chrono::minutes(1));
  EXPECT_TRUE(table_->List().empty());
  Stop();
  EXPECT_EQ(session->host_bytes(), 0u);
  EXPECT_EQ(session->memory_bytes(), 0u);
}

TEST_P(DataServerWaysTest, ARestThatDoesNotComeEndsTheSession) {
  Start({.frame_timeout_ms = 1});
  const auto session = Open(*table_);
  DataClient client = AttachTo(*session);
  std::vector<std::byte> frame;
  frames::Append(Wrong(), frame);
  frame.pop_back();
  client.Send(absl::MakeConstSpan(frame));
  EXPECT_THAT(client.Next().result().status,
              IsStatus(absl::StatusCode::kDeadlineExceeded, "has not come within 1 ms"));
}

TEST_F(DataServerTest, ASecretOfNobodyOrOfAnotherUserFindsNoSession) {
  const auto session = Open(*table_);
  const std::string secret = session->info().secret;
  for (const auto& [shown, uid] : {std::pair(std::string(16, 'x'), 1000), {secret, 1001}}) {
    DataClient client = Connect(static_cast<uid_t>(uid));
    client.Say(DataClient::MakeHello(shown, false));
    const ReceivedFrame answer = client.Next();
    EXPECT_EQ(answer.Words(), "end");
    EXPECT_THAT(answer.result().status, HasReason(reason::kSessionNotFound));
  }
  EXPECT_FALSE(session->channel_taken());
  EXPECT_FALSE(session->ended());
}

TEST_F(DataServerTest, AnotherVersionIsRefusedAndMayTryAnotherWay) {
  const auto session = Open(*table_);
  DataClient client = Connect();
  frames::Hello hello = DataClient::MakeHello(session->info().secret, false);
  hello.version = frames::kVersion + 1;
  client.Say(hello);
  EXPECT_THAT(client.Next().result().status, HasReason(reason::kVersionUnsupported));
  EXPECT_FALSE(session->ended());
}

TEST_F(DataServerTest, ASessionHasOneChannelAtATime) {
  const auto session = Open(*table_);
  DataClient first = Attach(*session, false);
  DataClient second = Connect();
  second.Say(DataClient::MakeHello(session->info().secret, false));
  EXPECT_THAT(second.Next().result().status, HasReason(reason::kSessionBusy));
  first.Send({Synchronize()});
  EXPECT_EQ(first.UntilFinished(1).back().Words(), "finished 1");
}

TEST_F(DataServerTest, AHelloMayComeInPieces) {
  const auto session = Open(*table_);
  DataClient client = Connect();
  const frames::Hello hello = DataClient::MakeHello(session->info().secret, false);
  const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&hello), sizeof hello);
  for (const std::byte& each : bytes) client.Send(absl::MakeConstSpan(&each, 1));
  EXPECT_EQ(client.Welcome().kind(), frames::Kind::kWelcome);
}

TEST_F(DataServerTest, AClientThatSaysNothingIsNotWaitedForForEver) {
  Start({}, std::chrono::milliseconds(1));
  DataClient client = Connect();
  EXPECT_TRUE(BecomesReadable(client.stream().fd()));
  EXPECT_EQ(client.Next().header.kind, 0);
}

TEST_F(DataServerTest, WithoutSharedMemoryTheSocketIsUsedAndTheReasonTold) {
  for (const SessionLimits& limits :
       {SessionLimits{.ring_bytes = 0}, SessionLimits{.host_bytes = 1000}}) {
    Start(limits);
    const auto session = Open(*table_);
    DataClient client = Connect();
    client.Say(DataClient::MakeHello(session->info().secret, true));
    const ReceivedFrame welcome = client.Welcome();
    EXPECT_EQ(client.ring(), nullptr);
    const std::string text(reinterpret_cast<const char*>(welcome.payload.data()),
                           welcome.payload.size());
    EXPECT_THAT(text, HasSubstr("frames+unix"));
    EXPECT_THAT(text, HasSubstr(limits.ring_bytes == 0 ? "is configured to share no memory"
                                                       : "beyond its limit of 1000"));
    client.Send({Synchronize()});
    EXPECT_EQ(client.UntilFinished(1).back().Words(), "finished 1");
  }
}

TEST_F(DataServerTest, FramesOfSharedMemoryAreRefusedOnASocket) {
  const auto session = Open(*table_);
  DataClient client = Attach(*session, false);
  std::vector<std::byte> frame;
  frames::Append(frames::Kind::kAllocHost, 4096, frame);
  client.Send(absl::MakeConstSpan(frame));
  EXPECT_EQ(client.Next().Words(), "end");
}

TEST_F(DataServerTest, GoesWhileRingsAreOpenAndIdle) {
  for (int i = 0; i < 20; ++i) {
    Start({});
    const auto session = Open(*table_);
    DataClient client = Attach(*session, true);
    client.Send({Synchronize()});
    client.UntilFinished(1);
    Stop();
  }
}

}  // namespace
}  // namespace acceld
