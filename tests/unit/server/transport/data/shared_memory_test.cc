// Host memory that a client shares with the daemon.
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/transport/data/data_server.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/server/transport/data/data_test_base.h"

namespace acceld {
namespace {

using ::testing::HasSubstr;

class SharedMemoryTest : public DataTestBase {
 protected:
  SharedMemoryTest() {
    const SessionLimits limits{.host_bytes = 1 << 20, .ring_bytes = 4096};
    table_.emplace(*pool_, limits);
    server_ = *DataServer::Start(*table_, limits, std::chrono::minutes(1));
    session_ = Open(*table_);
    SocketPair sockets;
    server_->Serve(std::move(sockets.second), NextPeer());
    client_.emplace(std::move(sockets.first));
    client_->Say(DataClient::MakeHello(session_->info().secret, true));
    client_->Welcome();
    rings_bytes_ = session_->host_bytes();
  }
  ~SharedMemoryTest() override {
    table_->End(*session_, absl::CancelledError("The test is over."));
    client_.reset();
    server_.reset();
    EXPECT_EQ(session_->host_bytes(), 0u);
  }

  ReceivedFrame Ask(frames::Kind kind, std::uint64_t number) {
    std::vector<std::byte> frame;
    frames::Append(kind, number, frame);
    return AskWith(frame);
  }
  ReceivedFrame Ask(frames::Kind kind, const frames::SharedCopy& copy) {
    std::vector<std::byte> frame;
    frames::Append(kind, kDefaultStream, copy, frame);
    return AskWith(frame);
  }
  // The answer to one frame.
  ReceivedFrame AskWith(const std::vector<std::byte>& frame) {
    client_->Send(absl::MakeConstSpan(frame));
    return client_->UntilFinished(++sent_).front();
  }
  // Host memory that both sides map, and its number.
  std::pair<std::uint64_t, std::optional<SealedMemory>> AllocHost(std::uint64_t bytes) {
    const ReceivedFrame answer = Ask(frames::Kind::kAllocHost, bytes);
    EXPECT_THAT(answer.result().status, IsOk());
    absl::StatusOr<SealedMemory> memory =
        SealedMemory::Open(client_->ring()->NextDescriptor().Release(), bytes);
    if (!memory.ok()) {
      ADD_FAILURE() << memory.status();
      return {0, std::nullopt};
    }
    return {std::get<Address>(answer.result().value), *std::move(memory)};
  }
  void AllocDevice(std::uint64_t bytes) {
    client_->Send({Alloc(bytes)});
    client_->UntilFinished(++sent_);
  }

  std::optional<SessionTable> table_;
  std::unique_ptr<DataServer> server_;
  std::shared_ptr<Session> session_;
  std::optional<DataClient> client_;
  std::uint64_t sent_ = 0;
  std::uint64_t rings_bytes_ = 0;
};

TEST_F(SharedMemoryTest, TheRingsCount) { EXPECT_EQ(rings_bytes_, RingStream::MemoryBytes(4096)); }

TEST_F(SharedMemoryTest, CopiesGoThroughIt) {
  auto [host, memory] = AllocHost(8192);
  AllocDevice(100);
  std::memcpy(memory->data() + 50, "bytes", 5);
  EXPECT_THAT(Ask(frames::Kind::kWriteShared,
                  {.address = kAddress + 1, .size_bytes = 5, .host = host, .host_offset = 50})
                  .result()
                  .status,
              IsOk());
  EXPECT_THAT(Ask(frames::Kind::kReadShared,
                  {.address = kAddress, .size_bytes = 7, .host = host, .host_offset = 8185})
                  .result()
                  .status,
              IsOk());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(memory->data() + 8185), 7),
            std::string("\0bytes\0", 7));
}

TEST_F(SharedMemoryTest, ACopyOfTheWrongDeviceMemoryIsItsOwnError) {
  auto [host, memory] = AllocHost(4096);
  EXPECT_THAT(Ask(frames::Kind::kWriteShared, {.address = 7, .size_bytes = 1, .host = host})
                  .result()
                  .status,
              HasReason(reason::kUnknownAddress));
  EXPECT_FALSE(session_->ended());
}

TEST_F(SharedMemoryTest, HostMemoryCountsUntilItIsFreed) {
  auto [host, memory] = AllocHost(8192);
  EXPECT_EQ(session_->host_bytes(), rings_bytes_ + 8192);
  Ask(frames::Kind::kFreeHost, host);
  // The next allocation comes behind the release.
  auto [next, other] = AllocHost(4096);
  EXPECT_NE(next, host);
  EXPECT_EQ(session_->host_bytes(), rings_bytes_ + 4096);
}

TEST_F(SharedMemoryTest, HostMemoryOverTheLimitIsAnErrorAndTheChannelGoesOn) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    EXPECT_THAT(Ask(frames::Kind::kAllocHost, bytes).result().status,
                HasReason(reason::kLimitExceeded));
  }
  EXPECT_THAT(Ask(frames::Kind::kAllocHost, 0).result().status, IsInvalid("at least 1 byte"));
  EXPECT_EQ(session_->host_bytes(), rings_bytes_);
  AllocHost(4096);
}

TEST_F(SharedMemoryTest, MemoryThatCannotBeMappedIsAnErrorAndTheChannelGoesOn) {
  AllocDevice(100);
  EXPECT_THAT(Ask(frames::Kind::kMap, kAddress).result().status, HasReason(reason::kUnsupported));
  AllocHost(4096);
}

TEST_F(SharedMemoryTest, HostMemoryThatIsNoneEndsTheSession) {
  const ReceivedFrame end = Ask(frames::Kind::kReadShared, {.address = kAddress, .host = 99});
  EXPECT_EQ(end.Words(), "end");
  EXPECT_THAT(end.result().status, IsInvalid("Host memory 99 does not exist."));
}

TEST_F(SharedMemoryTest, FreeingTwiceEndsTheSession) {
  const std::uint64_t host = AllocHost(4096).first;
  Ask(frames::Kind::kFreeHost, host);
  EXPECT_EQ(Ask(frames::Kind::kFreeHost, host).Words(), "end");
}

TEST_F(SharedMemoryTest, ACopyBeyondTheHostMemoryEndsTheSession) {
  const std::uint64_t host = AllocHost(4096).first;
  const ReceivedFrame end =
      Ask(frames::Kind::kReadShared,
          {.address = kAddress, .size_bytes = 2, .host = host, .host_offset = ~std::uint64_t{0}});
  EXPECT_THAT(end.result().status, IsInvalid("are beyond the host memory's 4096 bytes"));
}

TEST_F(SharedMemoryTest, ACopyUnderWayKeepsFreedHostMemory) {
  auto [host, memory] = AllocHost(4096);
  AllocDevice(100);
  device_->CloseGate();
  EXPECT_EQ(device_->registered().size(), 1u);
  std::memcpy(memory->data(), "kept", 4);
  std::vector<std::byte> frames;
  frames::Append(frames::Kind::kWriteShared, kDefaultStream,
                 {.address = kAddress, .size_bytes = 4, .host = host}, frames);
  frames::Append(frames::Kind::kFreeHost, host, frames);
  frames::Append(Read(4), frames);
  client_->Send(absl::MakeConstSpan(frames));
  device_->WaitForHeld(1);
  EXPECT_EQ(device_->registered().size(), 1u);
  device_->OpenGate();
  std::string words;
  for (const ReceivedFrame& each : client_->UntilFinished(sent_ + 3)) words += each.Words() + ";";
  EXPECT_THAT(words, HasSubstr("data 5: kept"));
  // The next allocation comes behind the release.
  AllocHost(4096);
  EXPECT_EQ(device_->registered().size(), 1u);
}

}  // namespace
}  // namespace acceld
