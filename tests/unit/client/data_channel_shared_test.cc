// Copies through memory that a client and its daemon share.
#include <atomic>
#include <map>
#include <optional>
#include <random>

#include "client/data_channel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/client/scripted_daemon.h"

namespace acceld {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A daemon with one piece of device memory, at address 0x1000, on a thread of its own.
class SharingDaemon {
 public:
  static constexpr Address kDevice = 0x1000;
  // The place of command::Write.
  static constexpr frames::Kind kWriteKind{2};

  SharingDaemon(DataLink& link, std::size_t device_bytes)
      : daemon_(link, 4096), device_(device_bytes) {
    thread_ = std::thread([this] { Serve(); });
  }
  // Ends with the client's channel.
  ~SharingDaemon() { thread_.join(); }

  // `size` bytes of the device memory from `offset` on.
  std::vector<std::byte> Device(std::size_t offset, std::size_t size) {
    MutexLock lock(mutex_);
    const auto first = device_.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
  }
  // The sizes of the host memory that there is.
  std::vector<std::uint64_t> HostSizes() {
    MutexLock lock(mutex_);
    std::vector<std::uint64_t> sizes;
    for (const auto& [number, memory] : hosts_) sizes.push_back(memory.size_bytes());
    return sizes;
  }
  // How often a kind of frame has come.
  int Seen(frames::Kind kind) {
    MutexLock lock(mutex_);
    return seen_[kind];
  }
  // From now on AllocHost and Map return this.
  void Refuse(absl::Status refusal) {
    MutexLock lock(mutex_);
    refusal_ = std::move(refusal);
  }
  // ... and shared copies this.
  void Fail(absl::Status fault) {
    MutexLock lock(mutex_);
    fault_ = std::move(fault);
  }

 private:
  void Serve() {
    for (std::uint64_t number = 1;; ++number) {
      const SentFrame frame = daemon_.Next();
      if (frame.header.kind == 0) return;
      MutexLock lock(mutex_);
      ++seen_[frame.kind()];
      switch (frame.kind()) {
        case frames::Kind::kAllocHost:
          AllocHost(number, *frames::ToNumber(frame.payload));
          break;
        case frames::Kind::kFreeHost:
          hosts_.erase(*frames::ToNumber(frame.payload));
          daemon_.SendFinished(number);
          break;
        case frames::Kind::kMap:
          Map(number);
          break;
        case frames::Kind::kWriteShared:
        case frames::Kind::kReadShared:
          Copy(number, frame.kind(), *frames::ToSharedCopy(frame.payload));
          break;
        default:
          if (frame.kind() == kWriteKind) Write(frame);
          daemon_.SendResult(number, {});
      }
    }
  }

  void Write(const SentFrame& frame) ACCELD_REQUIRES(mutex_) {
    const std::string data = frame.data();
    const Address target = std::get<command::Write>(frame.command()->action).target;
    std::memcpy(device_.data() + (target - kDevice), data.data(), data.size());
  }

  void Map(std::uint64_t number) ACCELD_REQUIRES(mutex_) {
    if (refusal_.ok()) {
      EXPECT_THAT(daemon_.ring().SendDescriptor(hosts_.at(1).fd()), IsOk());
    }
    daemon_.SendResult(number, {.status = refusal_, .value = Address{1}});
  }

  void AllocHost(std::uint64_t number, std::uint64_t bytes) ACCELD_REQUIRES(mutex_) {
    if (!refusal_.ok()) return daemon_.SendResult(number, {.status = refusal_, .value = {}});
    const std::uint64_t host = ++last_host_;
    const auto made = hosts_.emplace(host, *SealedMemory::Create("test-host", bytes)).first;
    EXPECT_THAT(daemon_.ring().SendDescriptor(made->second.fd()), IsOk());
    daemon_.SendResult(number, {.status = {}, .value = Address{host}});
  }

  void Copy(std::uint64_t number, frames::Kind kind, const frames::SharedCopy& copy)
      ACCELD_REQUIRES(mutex_) {
    std::byte* const host = hosts_.at(copy.host).data() + copy.host_offset;
    std::byte* const target = device_.data() + (copy.address - kDevice);
    if (fault_.ok() && kind == frames::Kind::kWriteShared) {
      std::memcpy(target, host, copy.size_bytes);
    } else if (fault_.ok()) {
      std::memcpy(host, target, copy.size_bytes);
    }
    daemon_.SendResult(number, {.status = fault_, .value = {}});
  }

  ScriptedDaemon daemon_;
  Mutex mutex_;
  std::vector<std::byte> device_ ACCELD_GUARDED_BY(mutex_);
  std::map<std::uint64_t, SealedMemory> hosts_ ACCELD_GUARDED_BY(mutex_);
  std::uint64_t last_host_ ACCELD_GUARDED_BY(mutex_) = 0;
  std::map<frames::Kind, int> seen_ ACCELD_GUARDED_BY(mutex_);
  absl::Status refusal_ ACCELD_GUARDED_BY(mutex_);
  absl::Status fault_ ACCELD_GUARDED_BY(mutex_);
  std::thread thread_;
};

class DataChannelSharedTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kDeviceBytes = 6 << 20;

  DataChannelSharedTest() {
    DataLink link;
    link.welcome = {.ring_bytes = 4096, .staging_bytes = 1 << 20};
    daemon_.emplace(link, kDeviceBytes);
    channel_.emplace(std::move(link), [this](std::uint64_t, Stream, const absl::Status& status) {
      late_error_ = status;
    });
  }
  ~DataChannelSharedTest() override {
    channel_.reset();
    daemon_.reset();
  }

  void Synchronize() {
    std::atomic<bool> done{false};
    channel_->Send(
        {.action = command::Synchronize{}}, [&](CommandResult) { done = true; },
        /*waits=*/true);
    channel_->Wait([&] { return done.load(); });
  }
  absl::Status Read(absl::Span<std::byte> target, Address source) {
    std::atomic<bool> done{false};
    absl::Status status;
    channel_->Read(target, source, kDefaultStream, false, [&](absl::Status ended) {
      status = std::move(ended);
      done = true;
    });
    channel_->Wait([&] { return done.load(); });
    return status;
  }
  static std::vector<std::byte> RandomBytes(std::size_t size) {
    std::minstd_rand random(static_cast<unsigned>(size));
    std::vector<std::byte> bytes(size);
    for (std::byte& each : bytes) each = static_cast<std::byte>(random());
    return bytes;
  }

  static constexpr Address kDevice = SharingDaemon::kDevice;
  absl::Status late_error_;
  std::optional<SharingDaemon> daemon_;
  std::optional<DataChannel> channel_;
};

TEST_F(DataChannelSharedTest, CopiesOfEverySizeArriveWhole) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, std::size_t{1} << 17,
        (std::size_t{1} << 17) + 1, kDeviceBytes - 3}) {
    SCOPED_TRACE(size);
    const std::vector<std::byte> bytes = RandomBytes(size);
    channel_->Write(kDevice + 3, bytes, kDefaultStream, nullptr);
    std::vector<std::byte> read(size);
    EXPECT_THAT(Read(absl::MakeSpan(read), kDevice + 3), IsOk());
    EXPECT_EQ(read, bytes);
  }
}

TEST_F(DataChannelSharedTest, StagingIsMadeOnce) {
  const std::vector<std::byte> bytes = RandomBytes(100'000);
  for (int i = 0; i < 5; ++i) channel_->Write(kDevice, bytes, kDefaultStream, nullptr);
  Synchronize();
  EXPECT_EQ(daemon_->Seen(frames::Kind::kAllocHost), 1);
  EXPECT_THAT(daemon_->HostSizes(), ElementsAre(1u << 20));
}

TEST_F(DataChannelSharedTest, HostMemoryIsCopiedFromWithoutStaging) {
  const auto host = channel_->AllocateHost(1 << 20);
  ASSERT_THAT(host.status(), IsOk());
  const std::vector<std::byte> bytes = RandomBytes(1 << 20);
  std::copy(bytes.begin(), bytes.end(), host->get());
  const auto memory = absl::MakeSpan(host->get(), 1 << 20);
  channel_->Write(kDevice, memory.subspan(5000), kDefaultStream, nullptr);
  EXPECT_EQ(daemon_->Seen(frames::Kind::kAllocHost), 1);
  EXPECT_EQ(daemon_->Seen(frames::Kind::kWriteShared), 1);
  const std::vector<std::byte> sent(bytes.begin() + 5000, bytes.end());
  EXPECT_EQ(daemon_->Device(0, sent.size()), sent);
  EXPECT_THAT(Read(memory.subspan(0, 4), kDevice), IsOk());
  EXPECT_EQ(daemon_->Seen(frames::Kind::kReadShared), 1);
  EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + 4, sent.begin()));
}

TEST_F(DataChannelSharedTest, BytesPartlyInHostMemoryAreStaged) {
  const auto host = channel_->AllocateHost(8192);
  ASSERT_THAT(host.status(), IsOk());
  std::vector<std::byte> elsewhere = RandomBytes(8192);
  EXPECT_THAT(Read(absl::MakeSpan(elsewhere), kDevice), IsOk());
  EXPECT_EQ(daemon_->Seen(frames::Kind::kAllocHost), 2);
}

TEST_F(DataChannelSharedTest, TheDaemonIsToldOfHostMemoryThatIsFreed) {
  channel_->AllocateHost(8192)->reset();
  Synchronize();
  EXPECT_EQ(daemon_->Seen(frames::Kind::kFreeHost), 1);
  EXPECT_THAT(daemon_->HostSizes(), IsEmpty());
}

TEST_F(DataChannelSharedTest, HostMemoryMayOutliveTheChannel) {
  std::shared_ptr<std::byte> host = *channel_->AllocateHost(8192);
  channel_.reset();
  std::memset(host.get(), 1, 8192);
  host.reset();
}

TEST_F(DataChannelSharedTest, WithoutStagingCopiesTravelInFrames) {
  daemon_->Refuse(OutOfMemory("There is none left."));
  EXPECT_THAT(channel_->AllocateHost(8192).status(), HasReason(reason::kDeviceOutOfMemory));
  channel_->Write(kDevice, RandomBytes(100'000), kDefaultStream, nullptr);
  Synchronize();
  EXPECT_EQ(daemon_->Seen(frames::Kind::kWriteShared), 0);
  EXPECT_EQ(daemon_->Seen(SharingDaemon::kWriteKind), 1);
}

TEST_F(DataChannelSharedTest, ErrorsOfCopiesComeBack) {
  daemon_->Fail(DeviceError("The device is on fire."));
  std::vector<std::byte> bytes = RandomBytes(400'000);
  EXPECT_THAT(Read(absl::MakeSpan(bytes), kDevice), HasReason(reason::kDeviceError));
  EXPECT_EQ(bytes, RandomBytes(400'000));
  EXPECT_THAT(late_error_, IsOk());
  channel_->Write(kDevice, bytes, kDefaultStream, nullptr);
  Synchronize();
  EXPECT_THAT(late_error_, HasReason(reason::kDeviceError));
}

TEST_F(DataChannelSharedTest, MapsWhatTheDaemonShows) {
  EXPECT_TRUE(channel_->CanMap());
  const auto host = *channel_->AllocateHost(8192);
  host.get()[7] = std::byte{42};
  const auto mapped = channel_->Map(kDevice, 8192);
  ASSERT_THAT(mapped.status(), IsOk());
  EXPECT_NE(mapped->get(), host.get());
  EXPECT_EQ(mapped->get()[7], std::byte{42});
  // The daemon's file has fewer bytes than that.
  EXPECT_THAT(channel_->Map(kDevice, 1 << 20).status(), IsInvalid(""));
  daemon_->Refuse(InvalidArgument("It is not mappable."));
  EXPECT_THAT(channel_->Map(kDevice, 8192).status(), IsInvalid("It is not mappable."));
}

TEST_F(DataChannelSharedTest, ThreadsThatCopyAtOnceShareTheSlots) {
  constexpr std::size_t kPart = 1'000'000;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      const Address address = kDevice + i * kPart;
      const std::vector<std::byte> bytes = RandomBytes(kPart - i);
      std::vector<std::byte> read(bytes.size());
      for (int round = 0; round < 3; ++round) {
        channel_->Write(address, bytes, kDefaultStream, nullptr);
        std::fill(read.begin(), read.end(), std::byte{0});
        EXPECT_THAT(Read(absl::MakeSpan(read), address), IsOk());
        EXPECT_EQ(read, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace acceld
