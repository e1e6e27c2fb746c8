#include "server/transport/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "server/transport/listener.h"
#include "tests/unit/server/transport/test_sockets.h"

namespace acceld {
namespace {

Peer UnixPeer(uid_t uid, pid_t pid) {
  Peer peer;
  peer.kind = Peer::Kind::kUnix;
  peer.uid = uid;
  peer.pid = pid;
  return peer;
}

Peer TcpPeer(std::string address, std::uint16_t port) {
  Peer peer;
  peer.address = std::move(address);
  peer.port = port;
  return peer;
}

TEST(Peer, IdentityIsTheUserOrTheHost) {
  EXPECT_EQ(UnixPeer(1000, 7).Identity(), "uid:1000");
  EXPECT_EQ(TcpPeer("127.0.0.1", 99).Identity(), "tcp:127.0.0.1");
  EXPECT_EQ(TcpPeer("::1", 99).Identity(), "tcp:[::1]");
}

TEST(Peer, ProcessesOfOneUserAreOneIdentity) {
  EXPECT_TRUE(SameIdentity(UnixPeer(1000, 7), UnixPeer(1000, 8)));
  EXPECT_FALSE(SameIdentity(UnixPeer(1000, 7), UnixPeer(1001, 7)));
}

TEST(Peer, PortsOfOneHostAreOneIdentity) {
  EXPECT_TRUE(SameIdentity(TcpPeer("127.0.0.1", 1), TcpPeer("127.0.0.1", 2)));
  EXPECT_FALSE(SameIdentity(TcpPeer("127.0.0.1", 1), TcpPeer("127.0.0.2", 1)));
}

TEST(Peer, UnixAndTcpAreNeverOneIdentity) {
  EXPECT_FALSE(SameIdentity(UnixPeer(Peer::kNoUser, 0), TcpPeer("", 0)));
}

TEST(Peer, AnUnknownUserIsNotRoot) { EXPECT_NE(Peer().uid, 0u); }

TEST(Peer, ComesFromTheKernelForUnixSockets) {
  const SocketFolder folder;
  auto listener = ListenUnix(folder.Path("s"));
  ASSERT_TRUE(listener.ok()) << listener.status();
  const UniqueFd client = ConnectUnix(folder.Path("s"));
  const UniqueFd server(accept(listener->fd(), nullptr, nullptr));
  const auto peer = PeerOf(server.get());
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->kind, Peer::Kind::kUnix);
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_EQ(peer->gid, getegid());
  EXPECT_EQ(peer->pid, getpid());
}

TEST(Peer, ComesFromTheKernelForTcp) {
  auto listeners = ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  const UniqueFd client = ConnectTcp(PortOf(listeners->front().endpoint()));
  const UniqueFd server(accept(listeners->front().fd(), nullptr, nullptr));
  const auto peer = PeerOf(server.get());
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->kind, Peer::Kind::kTcp);
  EXPECT_EQ(peer->address, "127.0.0.1");
  EXPECT_NE(peer->port, 0);
  EXPECT_EQ(peer->uid, Peer::kNoUser);
  EXPECT_EQ(peer->pid, 0);
}

}  // namespace
}  // namespace acceld
