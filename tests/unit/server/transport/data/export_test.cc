// Descriptors of openable memory, which come to the client.
#include <sys/stat.h>

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/transport/data/data_server.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/server/transport/data/data_test_base.h"

namespace acceld {
namespace {

constexpr std::uint64_t kBytes = 100;

// Over rings, and over a socket.
class ExportTest : public DataTestBase, public ::testing::WithParamInterface<bool> {
 protected:
  ExportTest() {
    openable_ = true;
    const SessionLimits limits{.direct_opening = true, .ring_bytes = 4096};
    table_.emplace(*pool_, limits);
    server_ = *DataServer::Start(*table_, limits, std::chrono::minutes(1));
    session_ = Open(*table_);
    SocketPair sockets;
    server_->Serve(std::move(sockets.second), NextPeer());
    client_.emplace(std::move(sockets.first));
    client_->Say(DataClient::MakeHello(session_->info().secret, GetParam()));
    client_->Welcome();
    client_->Send(
        {{.action = command::Alloc{.address = kAddress, .size_bytes = kBytes, .openable = true}}});
    client_->UntilFinished(++sent_);
  }
  ~ExportTest() override {
    client_.reset();
    server_.reset();
  }

  // The results of exports, and perhaps what is finished.
  std::vector<ReceivedFrame> Export(const std::vector<Address>& addresses) {
    std::vector<std::byte> bytes;
    for (const Address each : addresses) {
      frames::Append(frames::Kind::kExportHandle, each, bytes);
      ++sent_;
    }
    client_->Send(absl::MakeConstSpan(bytes));
    return client_->UntilFinished(sent_);
  }
  // How many descriptors have come, all of the file that the device exports.
  int TakeDescriptors() {
    int count = 0;
    while (true) {
      const UniqueFd descriptor = client_->stream().NextDescriptor();
      if (!descriptor.valid()) return count;
      struct stat status;
      EXPECT_EQ(fstat(descriptor.get(), &status), 0);
      EXPECT_TRUE(S_ISREG(status.st_mode) && status.st_size == 0);
      ++count;
    }
  }

  std::optional<SessionTable> table_;
  std::unique_ptr<DataServer> server_;
  std::shared_ptr<Session> session_;
  std::optional<DataClient> client_;
  std::uint64_t sent_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Ways, ExportTest, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Rings" : "Socket");
});

TEST_P(ExportTest, BringsADescriptorAndTheSize) {
  const CommandResult result = Export({kAddress}).front().result();
  EXPECT_THAT(result.status, IsOk());
  EXPECT_EQ(result.value, CommandValue(Address{kBytes}));
  EXPECT_EQ(TakeDescriptors(), 1);
}

TEST_P(ExportTest, BringsOneWithEachResultThatIsOk) {
  std::vector<Address> addresses;
  for (int i = 0; i < 200; ++i) addresses.push_back(i % 3 == 0 ? Address{7} : kAddress);
  int exported = 0;
  int refused = 0;
  for (const ReceivedFrame& frame : Export(addresses)) {
    if (frame.kind() != frames::Kind::kResult) continue;
    const absl::Status status = frame.result().status;
    // A ring's socket takes just so many before the client does.
    ++(status.ok() ? exported : refused);
  }
  EXPECT_EQ(exported + refused, 200);
  EXPECT_GE(refused, 67);
  EXPECT_GT(exported, 0);
  if (!GetParam()) {
    EXPECT_EQ(exported, 133);
  }
  EXPECT_EQ(TakeDescriptors(), exported);
}

TEST_P(ExportTest, OfOtherMemoryIsAnErrorAndTheChannelGoesOn) {
  client_->Send({{.action = command::Alloc{.address = 2 * kAddress, .size_bytes = 1}},
                 {.action = command::Free{.address = 2 * kAddress}},
                 {.action = command::Alloc{.address = 3 * kAddress, .size_bytes = 1}}});
  client_->UntilFinished(sent_ += 3);
  for (const Address freed : {Address{0}, kAddress + 1, 2 * kAddress, ~Address{0}}) {
    EXPECT_THAT(Export({freed}).front().result().status,
                IsStatus(absl::StatusCode::kInvalidArgument, "to export"));
  }
  EXPECT_THAT(Export({3 * kAddress}).front().result().status, HasReason(reason::kUnsupported));
  EXPECT_EQ(TakeDescriptors(), 0);
  EXPECT_THAT(Export({kAddress}).front().result().status, IsOk());
  EXPECT_EQ(TakeDescriptors(), 1);
}

TEST_P(ExportTest, WithoutAnAddressEndsTheSession) {
  const frames::Header header{.kind = static_cast<std::uint16_t>(frames::Kind::kExportHandle)};
  client_->Send({reinterpret_cast<const std::byte*>(&header), sizeof header});
  EXPECT_EQ(client_->Next().Words(), "end");
}

}  // namespace
}  // namespace acceld
