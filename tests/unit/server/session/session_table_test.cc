#include "server/session/session_table.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/faulty_device.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/context/outcome.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kBytes = 16;
const absl::Status kOver = absl::CancelledError("It is over.");

Peer User(uid_t uid, std::uint64_t connection_id = 1) {
  Peer peer;
  peer.kind = Peer::Kind::kUnix;
  peer.uid = uid;
  peer.connection_id = connection_id;
  return peer;
}

class SessionTableTest : public ::testing::Test {
 protected:
  SessionTableTest() {
    Registry registry;
    registry.Register({.kind = BackendKind::kCpu,
                       .available = true,
                       .factory = [this](int) -> absl::StatusOr<std::unique_ptr<Device>> {
                         auto device =
                             std::make_unique<FaultyDevice>(std::make_unique<HostDevice>());
                         device_ = device.get();
                         return device;
                       }});
    pool_ = std::make_unique<DevicePool>(std::move(registry));
    MakeTable({});
  }
  ~SessionTableTest() override {
    if (device_ != nullptr) device_->OpenGate();
  }

  void MakeTable(const SessionLimits& limits) {
    table_.reset();
    table_ = std::make_unique<SessionTable>(*pool_, limits);
  }

  absl::StatusOr<std::shared_ptr<Session>> TryOpen(const Peer& peer = User(1000),
                                                   const SelectionRequest& selection = {}) {
    return table_->Open(
        {.peer = peer, .transport = "test", .client_name = "tester", .selection = selection});
  }
  std::shared_ptr<Session> Open(const Peer& peer = User(1000)) { return *TryOpen(peer); }
  // The numbers of all sessions.
  std::vector<std::uint64_t> Ids() const {
    std::vector<std::uint64_t> ids;
    for (const auto& session : table_->List()) ids.push_back(session->info().id);
    return ids;
  }
  static void Alloc(Session& session) {
    const Outcome<CommandResult> result;
    session.Submit({.action = command::Alloc{.address = 1 << 20, .size_bytes = kBytes}}, result);
    EXPECT_THAT(result.Get().status, IsOk());
  }
  static Outcome<CommandResult> Fill(Session& session) {
    Outcome<CommandResult> result;
    session.Submit(
        {.action = command::Run{ops::Memset{.target = 1 << 20, .value = 1, .bytes = kBytes}}},
        result);
    return result;
  }
  static Outcome<absl::Status> OnEnd(Session& session) {
    Outcome<absl::Status> ended;
    session.OnEnd(ended);
    return ended;
  }

  FaultyDevice* device_ = nullptr;
  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<SessionTable> table_;
};

TEST_F(SessionTableTest, OpensSessionsWithGrowingNumbersAndSaysWhatTheyAre) {
  const auto first = Open();
  const auto second = Open(User(1001));
  EXPECT_THAT(Ids(), ElementsAre(1, 2));
  EXPECT_EQ(first->info().id, 1u);
  EXPECT_EQ(second->info().peer.uid, 1001u);
  EXPECT_EQ(first->info().transport, "test");
  EXPECT_EQ(first->info().client_name, "tester");
  EXPECT_EQ(first->info().device.name, "null");
  EXPECT_NE(first->info().choice, "");
}

TEST_F(SessionTableTest, NumbersAreNeverUsedAgain) {
  table_->End(*Open(), kOver);
  Open();
  EXPECT_THAT(Ids(), ElementsAre(2));
}

TEST_F(SessionTableTest, SecretsAreSixteenBytesAndDiffer) {
  const auto first = Open();
  const auto second = Open();
  EXPECT_EQ(first->info().secret.size(), 16u);
  EXPECT_EQ(second->info().secret.size(), 16u);
  EXPECT_NE(first->info().secret, second->info().secret);
  EXPECT_NE(first->info().secret, std::string(16, '\0'));
}

TEST_F(SessionTableTest, FindsASessionByItsSecretAndIdentity) {
  const auto session = Open(User(1000, 1));
  EXPECT_EQ(*table_->Find(session->info().secret, User(1000, 2)), session);
}

TEST_F(SessionTableTest, AnotherIdentityIsToldWhatANonexistentSecretIsTold) {
  const auto session = Open();
  const absl::Status wrong_user = table_->Find(session->info().secret, User(1001)).status();
  EXPECT_EQ(wrong_user, table_->Find(std::string(16, 'x'), User(1000)).status());
  EXPECT_EQ(wrong_user, table_->Find("", User(1000)).status());
  EXPECT_EQ(wrong_user, table_->Find(session->info().secret.substr(1), User(1000)).status());
  EXPECT_TRUE(absl::IsNotFound(wrong_user));
  EXPECT_THAT(wrong_user, HasReason(reason::kSessionNotFound));
}

TEST_F(SessionTableTest, AnEndedSessionIsNotFound) {
  const auto session = Open();
  const auto ended = OnEnd(*session);
  table_->End(*session, kOver);
  table_->End(*session, absl::CancelledError("Again."));
  EXPECT_EQ(ended.Get(), WithReason(kOver, reason::kSessionEnded));
  EXPECT_EQ(ended.calls(), 1u);
  EXPECT_THAT(table_->Find(session->info().secret, User(1000)).status(),
              HasReason(reason::kSessionNotFound));
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(SessionTableTest, SessionsHaveALimit) {
  MakeTable({.sessions = 2});
  const auto first = Open();
  Open();
  const absl::Status full = TryOpen().status();
  EXPECT_THAT(full, IsStatus(absl::StatusCode::kResourceExhausted, "has 2 sessions open"));
  EXPECT_THAT(full, HasReason(reason::kLimitExceeded));
  table_->End(*first, kOver);
  EXPECT_THAT(TryOpen().status(), IsOk());
}

TEST_F(SessionTableTest, ADeviceThatCannotBeChosenOpensNothing) {
  EXPECT_THAT(TryOpen(User(1000), {.kind = BackendKind::kCuda}).status(),
              HasReason(reason::kUnsupported));
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(SessionTableTest, TheLastHoldThatGoesEndsTheSession) {
  const auto session = Open();
  const auto ended = OnEnd(*session);
  SessionHold first = table_->Hold(*session);
  SessionHold second = table_->Hold(*session);
  SessionHold moved = std::move(first);
  first = {};
  EXPECT_TRUE(ended.pending());
  moved = {};
  EXPECT_TRUE(ended.pending());
  second = {};
  EXPECT_TRUE(absl::IsCancelled(ended.Get()));
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(SessionTableTest, AHoldOfAnEndedSessionDoesNothing) {
  const auto session = Open();
  SessionHold before = table_->Hold(*session);
  table_->End(*session, kOver);
  const SessionHold after = table_->Hold(*session);
  before = {};
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(SessionTableTest, EndConnectionEndsTheSessionsOfThatConnectionOnly) {
  Open(User(1000, 1));
  Open(User(1000, 2));
  Open(User(1001, 1));
  table_->EndConnection(1);
  EXPECT_THAT(Ids(), ElementsAre(2));
}

TEST_F(SessionTableTest, ASessionThatMovedEndsWithItsNewConnectionOnly) {
  Open(User(1000, 1))->MoveTo("shm", 2);
  table_->EndConnection(1);
  EXPECT_THAT(Ids(), ElementsAre(1));
  table_->EndConnection(2);
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(SessionTableTest, LiveBytesCountEndedSessionsUntilTheirWorkIsDone) {
  const auto idle = Open();
  const auto busy = Open();
  Alloc(*idle);
  Alloc(*busy);
  EXPECT_EQ(table_->live_bytes(), 2 * kBytes);
  device_->CloseGate();
  const auto running = Fill(*busy);
  const auto dropped = Fill(*busy);
  table_->End(*idle, kOver);
  EXPECT_EQ(table_->live_bytes(), kBytes);
  table_->End(*busy, kOver);
  EXPECT_EQ(table_->live_bytes(), kBytes);
  EXPECT_EQ(dropped.calls(), 1u);
  device_->OpenGate();
  EXPECT_EQ(running.calls(), 1u);
  EXPECT_EQ(table_->live_bytes(), 0u);
  EXPECT_EQ(device_->live_bytes(), 0u);
}

TEST_F(SessionTableTest, OneSessionsEndLeavesTheOthersAlone) {
  const auto first = Open();
  const auto second = Open();
  Alloc(*first);
  Alloc(*second);
  table_->End(*first, kOver);
  EXPECT_THAT(Fill(*second).Get().status, IsOk());
  EXPECT_EQ(table_->live_bytes(), kBytes);
}

TEST_F(SessionTableTest, ASessionCannotNameWhatIsAnothers) {
  const auto first = Open();
  const auto second = Open();
  Alloc(*first);
  EXPECT_THAT(Fill(*second).Get().status, HasReason(reason::kUnknownAddress));
}

TEST_F(SessionTableTest, DrainRefusesSessionsAndCommands) {
  const auto session = Open();
  Alloc(*session);
  EXPECT_FALSE(table_->draining());
  device_->CloseGate();
  const auto taken = Fill(*session);
  table_->Drain();
  EXPECT_TRUE(table_->draining());
  const absl::Status refused = TryOpen().status();
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_THAT(refused, HasReason(reason::kDraining));
  EXPECT_THAT(Fill(*session).Get().status, HasReason(reason::kDraining));
  EXPECT_FALSE(table_->Idle());
  device_->OpenGate();
  EXPECT_THAT(taken.Get().status, IsOk());
  EXPECT_TRUE(table_->Idle());
}

TEST_F(SessionTableTest, ALeaseEndsASessionThatNobodyHoldsOrNames) {
  MakeTable({.lease_ms = 1});
  const auto session = Open();
  const auto ended = OnEnd(*session);
  EXPECT_TRUE(absl::IsDeadlineExceeded(ended.Get()));
  EXPECT_THAT(table_->Find(session->info().secret, User(1000)).status(),
              HasReason(reason::kSessionNotFound));
}

TEST_F(SessionTableTest, AHoldOutlastsTheLease) {
  MakeTable({.lease_ms = 300});
  const auto held = Open();
  const SessionHold hold = table_->Hold(*held);
  const auto ended = OnEnd(*held);
  const auto other_ended = OnEnd(*Open());
  EXPECT_TRUE(absl::IsDeadlineExceeded(other_ended.Get()));
  EXPECT_TRUE(ended.pending());
}

TEST_F(SessionTableTest, WorkInProgressOutlastsTheLease) {
  MakeTable({.lease_ms = 300});
  const auto busy = Open();
  Alloc(*busy);
  device_->CloseGate();
  const auto running = Fill(*busy);
  const auto ended = OnEnd(*busy);
  const auto other_ended = OnEnd(*Open());
  EXPECT_TRUE(absl::IsDeadlineExceeded(other_ended.Get()));
  EXPECT_TRUE(ended.pending());
  device_->OpenGate();
  EXPECT_TRUE(absl::IsDeadlineExceeded(ended.Get()));
}

TEST_F(SessionTableTest, ItsEndEndsAllSessions) {
  const auto ended = OnEnd(*Open());
  table_.reset();
  EXPECT_TRUE(absl::IsUnavailable(ended.Get()));
  EXPECT_EQ(device_->live_bytes(), 0u);
}

TEST_F(SessionTableTest, ThreadsOpenHoldAndEndSessionsAtOnce) {
  MakeTable({.sessions = 3});
  const auto client = [&] {
    for (int i = 0; i < 200; ++i) {
      const auto opened = TryOpen();
      if (!opened.ok()) continue;
      const SessionHold hold = table_->Hold(**opened);
      Alloc(**opened);
      EXPECT_LE(table_->List().size(), 3u);
      EXPECT_THAT(Fill(**opened).Get().status, IsOk());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(client);
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(table_->live_bytes(), 0u);
}

}  // namespace
}  // namespace acceld
