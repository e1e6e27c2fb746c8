#include "server/transport/connection_table.h"

#include "gtest/gtest.h"

namespace acceld {
namespace {

Peer PeerWithId(std::uint64_t id) {
  Peer peer;
  peer.connection_id = id;
  return peer;
}

TEST(ConnectionTable, FindsAPeerByTheNameThatGrpcGivesItsConnection) {
  ConnectionTable table;
  table.Insert(1025, PeerWithId(7));
  const auto found = table.Find("fd:1025");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->connection_id, 7u);
}

TEST(ConnectionTable, FindsNothingForOtherNames) {
  ConnectionTable table;
  table.Insert(1025, PeerWithId(7));
  for (const char* name : {"", "fd:", "fd:1026", "fd:1025 ", "fd: 1025", "fd:+1025", "fd:1025x",
                           "fd:99999999999999999999", "1025", "unix:1025", "ipv4:127.0.0.1:1025"}) {
    EXPECT_FALSE(table.Find(name).has_value()) << name;
  }
}

TEST(ConnectionTable, ForgetsAClosedConnection) {
  ConnectionTable table;
  table.Insert(1025, PeerWithId(7));
  table.Erase(1025, 7);
  EXPECT_FALSE(table.Find("fd:1025").has_value());
}

TEST(ConnectionTable, KeepsTheNewConnectionWhenTheOldOneOfItsNumberEnds) {
  ConnectionTable table;
  table.Insert(1025, PeerWithId(7));
  table.Insert(1025, PeerWithId(8));
  table.Erase(1025, 7);
  const auto found = table.Find("fd:1025");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->connection_id, 8u);
}

}  // namespace
}  // namespace acceld
