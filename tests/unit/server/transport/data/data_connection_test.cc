// A connection without the thread that serves it.
#include "server/transport/data/data_connection.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/server/transport/data/data_test_base.h"

namespace acceld {
namespace {

class DataConnectionTest : public DataTestBase {
 protected:
  using State = DataConnection::State;

  DataConnectionTest() {
    SocketPair sockets;
    connection_ = DataConnection::Create(context_, std::move(sockets.second), NextPeer());
    client_.emplace(std::move(sockets.first));
  }
  ~DataConnectionTest() override {
    table_.End(*session_, absl::CancelledError("The test is over."));
    connection_->LetGo();
  }

  void Open() {
    client_->Say(DataClient::MakeHello(session_->info().secret, false));
    EXPECT_EQ(connection_->Advance(true), State::kIdle);
    EXPECT_EQ(client_->Welcome().kind(), frames::Kind::kWelcome);
  }
  static std::vector<std::byte> FrameOf(const Command& command) {
    std::vector<std::byte> frame;
    frames::Append(command, frame);
    return frame;
  }

  const SessionLimits limits_{.frame_timeout_ms = 60'000};
  SessionTable table_{*pool_, limits_};
  TaskThread tasks_;
  const DataConnection::Context context_{.sessions = table_,
                                         .limits = limits_,
                                         .tasks = tasks_,
                                         .handshake_timeout = std::chrono::minutes(1),
                                         .resume = [](DataConnection&) {}};
  const std::shared_ptr<Session> session_ = DataTestBase::Open(table_);
  std::shared_ptr<DataConnection> connection_;
  std::optional<DataClient> client_;
};

TEST_F(DataConnectionTest, AHelloIsDueAndThenNothingIs) {
  EXPECT_TRUE(connection_->deadline().has_value());
  Open();
  EXPECT_FALSE(connection_->deadline().has_value());
}

TEST_F(DataConnectionTest, TheRestOfAFrameIsDueFromItsBeginning) {
  Open();
  const auto frame = FrameOf(Wrong());
  const auto bytes = absl::MakeConstSpan(frame);
  client_->Send(bytes.subspan(0, 3));
  connection_->Advance(true);
  const auto due = connection_->deadline();
  ASSERT_TRUE(due.has_value());
  client_->Send(bytes.subspan(3, 3));
  connection_->Advance(true);
  EXPECT_EQ(connection_->deadline(), due);
  client_->Send(bytes.subspan(6));
  connection_->Advance(true);
  EXPECT_FALSE(connection_->deadline().has_value());
}

TEST_F(DataConnectionTest, AFrameBehindAnotherHasItsOwnTime) {
  Open();
  const auto frame = FrameOf(Wrong());
  const auto bytes = absl::MakeConstSpan(frame);
  client_->Send(bytes.subspan(0, 3));
  connection_->Advance(true);
  const auto due = connection_->deadline();
  // What is under way never ends, but it moves on.
  std::vector<std::byte> more(frame.begin() + 3, frame.end());
  more.insert(more.end(), frame.begin(), frame.begin() + 3);
  client_->Send(absl::MakeConstSpan(more));
  connection_->Advance(true);
  ASSERT_TRUE(connection_->deadline().has_value());
  EXPECT_GT(*connection_->deadline(), *due);
}

TEST_F(DataConnectionTest, AClosedClientClosesIt) {
  Open();
  client_.reset();
  EXPECT_EQ(connection_->Advance(true), State::kClosed);
}

TEST_F(DataConnectionTest, AClientThatDoesNotCloseIsLeftAfterAWhile) {
  Open();
  std::vector<std::byte> garbage(64, std::byte{0x22});
  client_->Send(absl::MakeConstSpan(garbage));
  EXPECT_EQ(connection_->Advance(true), State::kIdle);
  // More of it is not looked at.
  client_->Send(absl::MakeConstSpan(garbage));
  EXPECT_EQ(connection_->Advance(true), State::kIdle);
  ASSERT_TRUE(connection_->deadline().has_value());
  EXPECT_EQ(connection_->OnDeadline(), State::kClosed);
}

}  // namespace
}  // namespace acceld
