// Sessions on a device in memory, for the tests of data channels.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "server/session/session_table.h"
#include "tests/testing/faulty_device.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/context/outcome.h"
#include "tests/unit/server/transport/data/data_client.h"

namespace acceld {

class DataTestBase : public ::testing::Test {
 protected:
  static constexpr Address kAddress = 1 << 20;

  DataTestBase() {
    Registry registry;
    registry.Register({.kind = BackendKind::kCpu,
                       .available = true,
                       .factory = [this](int) -> absl::StatusOr<std::unique_ptr<Device>> {
                         auto host = std::make_unique<HostDevice>();
                         host->openable = openable_;
                         if (on_allocate_ != nullptr) {
                           host->quick_bytes = 0;
                           host->on_allocate = on_allocate_;
                         }
                         auto device = std::make_unique<FaultyDevice>(std::move(host));
                         device_ = device.get();
                         return device;
                       }});
    pool_ = std::make_unique<DevicePool>(std::move(registry));
  }

  // Every connection has its own number, and by default the same user.
  Peer NextPeer(uid_t uid = 1000) {
    Peer peer;
    peer.kind = Peer::Kind::kUnix;
    peer.uid = uid;
    peer.connection_id = ++connections_;
    return peer;
  }
  std::shared_ptr<Session> Open(SessionTable& table) {
    auto session = table.Open(
        {.peer = NextPeer(), .transport = "test", .client_name = "tester", .selection = {}});
    EXPECT_TRUE(session.ok()) << session.status();
    return *session;
  }
  static Outcome<absl::Status> OnEnd(Session& session) {
    Outcome<absl::Status> ended;
    session.OnEnd(ended);
    return ended;
  }
  static Command Alloc(std::uint64_t bytes) {
    return {.action = command::Alloc{.address = kAddress, .size_bytes = bytes}};
  }
  static Command Fill(std::uint8_t value, std::uint64_t bytes) {
    return {.action =
                command::Run{ops::Memset{.target = kAddress, .value = value, .bytes = bytes}}};
  }
  static Command Read(std::uint64_t bytes) {
    return {.action = command::Read{.source = kAddress, .size_bytes = bytes}};
  }
  static Command Synchronize() { return {.action = command::Synchronize{}}; }
  // A command that fails.
  static Command Wrong() { return {.action = command::Free{.address = 7}}; }

  // Whether the device has openable memory; set it before a session is opened.
  bool openable_ = false;
  // Called at the start of every allocation on the device, which then is not quick; set it before a
  // session is opened.
  std::function<void()> on_allocate_;
  FaultyDevice* device_ = nullptr;
  std::unique_ptr<DevicePool> pool_;
  std::uint64_t connections_ = 0;
};

}  // namespace acceld
