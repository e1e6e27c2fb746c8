#include "server/config/policy.h"

#include <unistd.h>

#include "gtest/gtest.h"
#include "server/config/default_socket.h"

namespace acceld {
namespace {

Peer UnixPeer(uid_t uid) {
  Peer peer;
  peer.kind = Peer::Kind::kUnix;
  peer.uid = uid;
  return peer;
}

Peer LocalTcpPeer() {
  Peer peer;
  peer.address = "127.0.0.1";
  return peer;
}

TEST(IsAdmin, OnlyTheDaemonsOwnUserByDefault) {
  const Config config;
  EXPECT_TRUE(IsAdmin(config, UnixPeer(geteuid())));
  EXPECT_FALSE(IsAdmin(config, UnixPeer(geteuid() + 1)));
  EXPECT_FALSE(IsAdmin(config, UnixPeer(Peer::kNoUser)));
}

TEST(IsAdmin, NoTcpPeerByDefault) {
  EXPECT_FALSE(IsAdmin(Config(), LocalTcpPeer()));
  Peer pretender = LocalTcpPeer();
  pretender.uid = geteuid();
  EXPECT_FALSE(IsAdmin(Config(), pretender));
}

TEST(IsAdmin, ExactlyThoseListed) {
  Config config;
  config.admins = {"uid:12345", "tcp:127.0.0.1"};
  EXPECT_TRUE(IsAdmin(config, UnixPeer(12345)));
  EXPECT_TRUE(IsAdmin(config, LocalTcpPeer()));
  EXPECT_FALSE(IsAdmin(config, UnixPeer(1234)));
  EXPECT_FALSE(IsAdmin(config, UnixPeer(0)));
  EXPECT_FALSE(IsAdmin(config, UnixPeer(geteuid())));
}

TEST(DefaultSocketPath, IsRootsOwn) {
  EXPECT_EQ(*DefaultSocketPath(0, "/run/user/0"), "/run/acceld/acceld.sock");
}

TEST(DefaultSocketPath, IsInAUsersRuntimeFolder) {
  EXPECT_EQ(*DefaultSocketPath(1000, "/run/user/1000"), "/run/user/1000/acceld/acceld.sock");
}

TEST(DefaultSocketPath, AsksForTheFlagWhereThereIsNone) {
  for (const char* folder : {static_cast<const char*>(nullptr), "", "relative"}) {
    const auto path = DefaultSocketPath(1000, folder);
    EXPECT_EQ(path.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(path.status().message().find("--socket=PATH"), std::string::npos);
  }
}

}  // namespace
}  // namespace acceld
