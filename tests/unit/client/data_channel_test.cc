#include "client/data_channel.h"

#include <unistd.h>

#include <atomic>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/backends/context/outcome.h"
#include "tests/unit/backends/core/is_status.h"
#include "tests/unit/client/scripted_daemon.h"

namespace acceld {
namespace {

using ::testing::HasSubstr;

// An error that was told of.
struct Reported {
  std::uint64_t number = 0;
  Stream stream{0};
  absl::Status status;
};

// Over a socket, and over rings.
class DataChannelTest : public ::testing::TestWithParam<bool> {
 protected:
  DataChannelTest() { Start(); }

  void Start() {
    channel_.reset();
    daemon_.reset();
    DataLink link;
    daemon_.emplace(link, GetParam() ? 4096 : 0);
    channel_.emplace(std::move(link),
                     [this](std::uint64_t number, Stream stream, const absl::Status& status) {
                       reported_({.number = number, .stream = stream, .status = status});
                     });
  }
  // Sends a command and waits for its result, as a blocking call does.
  CommandResult Ask(const Command& command) {
    std::atomic<bool> done{false};
    CommandResult answer;
    channel_->Send(
        command,
        [&](CommandResult result) {
          answer = std::move(result);
          done = true;
        },
        /*waits=*/true);
    channel_->Wait([&] { return done.load(); });
    return answer;
  }
  // What a read of `size` bytes gives, or its error.
  std::string Read(std::size_t size) {
    std::string text(size, '\0');
    std::atomic<bool> done{false};
    absl::Status status;
    channel_->Read(absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), size), 0x100,
                   kDefaultStream, false, [&](absl::Status ended) {
                     status = std::move(ended);
                     done = true;
                   });
    channel_->Wait([&] { return done.load(); });
    return status.ok() ? text : status.ToString();
  }
  // Answers the client's next frame with `bytes`, on another thread.
  std::thread AnswerWith(std::vector<std::byte> bytes) {
    return std::thread([this, bytes = std::move(bytes)] {
      daemon_->Next();
      daemon_->Send(absl::MakeConstSpan(bytes));
    });
  }

  const Command kNoOp{.action = command::NoOp{}};
  const Command kSynchronize{.action = command::Synchronize{}};
  Outcome<Reported> reported_;
  std::optional<ScriptedDaemon> daemon_;
  std::optional<DataChannel> channel_;
};

INSTANTIATE_TEST_SUITE_P(Ways, DataChannelTest, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Rings" : "Socket");
});

TEST_P(DataChannelTest, CommandsArriveInOrderWithGrowingNumbers) {
  for (std::uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(channel_->Send({.stream = Stream{i}, .action = command::Free{i}}, nullptr, false), i);
  }
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const SentFrame frame = daemon_->Next();
    EXPECT_EQ(frame.header.number, i);
    EXPECT_EQ(std::get<command::Free>(frame.command()->action).address, i);
  }
}

TEST_P(DataChannelTest, ACommandThatIsWaitedForIsSentByWaiting) {
  std::thread daemon([this] {
    daemon_->Next();
    daemon_->SendResult(1, {.status = {}, .value = Address{77}});
  });
  EXPECT_EQ(Ask(kSynchronize).value, CommandValue(Address{77}));
  daemon.join();
}

TEST_P(DataChannelTest, AnExportBringsItsOwnDescriptor) {
  ASSERT_TRUE(channel_->BringsDescriptors());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  std::thread daemon([&] {
    for (std::uint64_t number = 1; number <= 3; ++number) {
      const SentFrame frame = daemon_->Next();
      EXPECT_EQ(frame.kind(), frames::Kind::kExportHandle);
      EXPECT_EQ(*frames::ToNumber(frame.payload), 0x100 * number);
      const CommandResult result{.status = {}, .value = Address{number}};
      if (number < 3) {
        daemon_->SendResult(number, result, number == 1 ? writing.get() : reading.get());
      } else {
        daemon_->SendResult(number, result);
      }
    }
  });
  const absl::StatusOr<ShareableHandle> first = channel_->ExportHandle(0x100);
  const absl::StatusOr<ShareableHandle> second = channel_->ExportHandle(0x200);
  const absl::StatusOr<ShareableHandle> third = channel_->ExportHandle(0x300);
  daemon.join();
  ASSERT_THAT(first.status(), IsOk());
  EXPECT_EQ(first->size_bytes, 1u);
  EXPECT_EQ(write(first->descriptor.get(), "x", 1), 1);
  ASSERT_THAT(second.status(), IsOk());
  EXPECT_EQ(second->size_bytes, 2u);
  char byte = 0;
  EXPECT_EQ(read(second->descriptor.get(), &byte, 1), 1);
  EXPECT_THAT(third.status(), IsStatus(absl::StatusCode::kResourceExhausted, "no descriptor left"));
}

TEST_P(DataChannelTest, AnExportThatFailsBringsNone) {
  std::thread daemon([this] {
    daemon_->Next();
    daemon_->SendResult(1, {.status = UnsupportedError("No."), .value = {}});
  });
  EXPECT_THAT(channel_->ExportHandle(0x100).status(), HasReason(reason::kUnsupported));
  daemon.join();
}

TEST_P(DataChannelTest, ProgressEndsAllThatHaveNothingToSay) {
  const Outcome<CommandResult> done[3];
  for (const auto& each : done) channel_->Send(kNoOp, each, false);
  std::thread daemon([this] {
    daemon_->SendFinished(2);
    for (int i = 0; i < 4; ++i) daemon_->Next();
    daemon_->SendFinished(4);
  });
  EXPECT_THAT(Ask(kSynchronize).status, IsOk());
  daemon.join();
  for (const auto& each : done) {
    EXPECT_THAT(each.Get().status, IsOk());
    EXPECT_EQ(each.calls(), 1u);
  }
}

TEST_P(DataChannelTest, ResultsComeInAnyOrderAndOnceEach) {
  const Outcome<CommandResult> first;
  const Outcome<CommandResult> second;
  channel_->Send(kNoOp, first, false);
  channel_->Send(kNoOp, second, false);
  std::thread daemon([this] {
    for (int i = 0; i < 3; ++i) daemon_->Next();
    daemon_->SendResult(3, {});
    daemon_->SendResult(2, {.status = {}, .value = Stream{5}});
    daemon_->SendResult(2, {.status = {}, .value = Stream{6}});
    daemon_->SendResult(1, {.status = InvalidArgument("It is wrong."), .value = {}});
    daemon_->SendFinished(3);
  });
  Ask(kSynchronize);
  channel_->Wait([&] { return !first.pending(); });
  daemon.join();
  EXPECT_EQ(second.Get().value, CommandValue(Stream{5}));
  EXPECT_EQ(second.calls(), 1u);
  EXPECT_EQ(first.Get().status, InvalidArgument("It is wrong."));
  // Who has a callback hears of its error there.
  EXPECT_TRUE(reported_.pending());
}

TEST_P(DataChannelTest, AnErrorOfACommandWithoutACallbackIsReported) {
  channel_->Send({.stream = Stream{9}, .action = command::NoOp{}}, nullptr, false);
  std::thread daemon([this] {
    daemon_->Next();
    daemon_->SendResult(1, {.status = InvalidArgument("It is wrong."), .value = {}});
    daemon_->Next();
    daemon_->SendFinished(2);
  });
  Ask(kSynchronize);
  daemon.join();
  EXPECT_EQ(reported_.Get().number, 1u);
  EXPECT_EQ(reported_.Get().stream, Stream{9});
  EXPECT_EQ(reported_.Get().status, InvalidArgument("It is wrong."));
}

TEST_P(DataChannelTest, ThreadsThatWaitReadForEachOther) {
  constexpr std::uint64_t kThreads = 4;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> sum{0};
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { sum += std::get<Address>(Ask(kSynchronize).value); });
  }
  for (std::uint64_t i = 0; i < kThreads; ++i) daemon_->Next();
  for (std::uint64_t i = kThreads; i > 0; --i) {
    daemon_->SendResult(i, {.status = {}, .value = Address{i}});
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * (kThreads + 1) / 2);
}

TEST_P(DataChannelTest, MoreThanMayBeInFlightWaitsForRoom) {
  constexpr std::uint64_t kCommands = 50'000;
  std::thread daemon([this] {
    for (std::uint64_t i = 1; i <= kCommands; ++i) {
      if (daemon_->Next().header.kind == 0) return;
      if (i % 1000 == 0) daemon_->SendFinished(i);
    }
  });
  for (std::uint64_t i = 0; i < kCommands - 1; ++i) {
    channel_->WaitForRoom();
    channel_->Send(kNoOp, nullptr, false);
  }
  EXPECT_THAT(Ask(kSynchronize).status, IsOk());
  daemon.join();
}

TEST_P(DataChannelTest, ASmallWriteBringsItsBytes) {
  channel_->Write(0x100, BytesOf("bytes"), Stream{3}, nullptr);
  const SentFrame frame = daemon_->Next();
  EXPECT_EQ(frame.header.number, 3u);
  EXPECT_EQ(std::get<command::Write>(frame.command()->action).target, 0x100u);
  EXPECT_EQ(frame.data(), "bytes");
}

TEST_P(DataChannelTest, CallsAfterTheEndReturnItsReason) {
  std::vector<std::byte> end;
  frames::Append(frames::Kind::kEnd, 0,
                 WithReason(absl::CancelledError("It is over."), reason::kSessionEnded), end);
  std::thread daemon = AnswerWith(end);
  const absl::Status status = Ask(kSynchronize).status;
  daemon.join();
  EXPECT_THAT(status, IsStatus(absl::StatusCode::kUnavailable, "ended the session: It is over."));
  EXPECT_EQ(channel_->status(), status);
  const Outcome<CommandResult> late;
  channel_->Send(kNoOp, late, false);
  EXPECT_EQ(late.Get().status, status);
  EXPECT_EQ(Ask(kSynchronize).status, status);
  channel_->WaitForRoom();
}

TEST_P(DataChannelTest, ADaemonThatIsGoneEndsAllThatWait) {
  const Outcome<CommandResult> pending;
  channel_->Send(kNoOp, pending, false);
  std::thread daemon([this] {
    daemon_->Next();
    daemon_->Next();
    daemon_.reset();
  });
  EXPECT_THAT(Ask(kSynchronize).status, HasReason(reason::kConnectionLost));
  daemon.join();
  EXPECT_EQ(pending.Get().status.code(), absl::StatusCode::kUnavailable);
}

TEST_P(DataChannelTest, TheLastWordsOfADaemonThatIsGoneCount) {
  std::thread daemon([this] {
    daemon_->Next();
    daemon_->SendResult(1, {.status = {}, .value = Address{5}});
    daemon_.reset();
  });
  EXPECT_EQ(Ask(kSynchronize).value, CommandValue(Address{5}));
  daemon.join();
}

TEST_P(DataChannelTest, WhatIsPendingWhenItGoesIsCancelled) {
  const Outcome<CommandResult> pending;
  channel_->Send(kNoOp, pending, false);
  channel_.reset();
  EXPECT_EQ(pending.Get().status.code(), absl::StatusCode::kUnavailable);
}

// What a daemon never sends closes the channel, says what it was, and nobody waits on.
TEST_P(DataChannelTest, AnswersThatMakeNoSenseCloseItWithAReason) {
  const auto frame = [](frames::Header header, std::size_t bytes) {
    const auto* raw = reinterpret_cast<const std::byte*>(&header);
    std::vector<std::byte> frame(raw, raw + sizeof header);
    frame.resize(frame.size() + bytes);
    return frame;
  };
  const struct {
    std::vector<std::byte> answer;
    const char* message;
  } cases[] = {
      {frame({.kind = 7}, 0), "a frame of kind 7"},
      {frame({.kind = 131}, 0), "a frame of kind 131"},
      {frame({.payload_bytes = 1 << 20, .kind = 129, .number = 1}, 0), "that is too long"},
      {frame({.payload_bytes = 1, .kind = 129, .number = 1}, 1), "a result that is malformed"},
      {frame({.payload_bytes = 8, .kind = 129, .detail = 9, .number = 1}, 8), "is malformed"},
      {frame({.payload_bytes = 5, .kind = 130, .number = 1}, 5), "5 bytes of a read of 0"},
      {frame({.payload_bytes = 5, .kind = 130, .number = 99}, 5), "5 bytes of a read of 0"},
      {frame({.payload_bytes = 5, .kind = 130, .number = 0}, 5), "5 bytes of a read of 0"},
      {frame({.kind = 128, .number = 2}, 0), "the end of a command that it was not sent"},
      {frame({.kind = 128, .number = ~std::uint64_t{0}}, 0), "the end of a command"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.message);
    Start();
    std::thread daemon = AnswerWith(each.answer);
    const absl::Status status = Ask(kSynchronize).status;
    daemon.join();
    EXPECT_THAT(status, IsStatus(absl::StatusCode::kUnavailable, each.message));
    EXPECT_EQ(channel_->status(), status);
  }
}

// The others know sockets only: over rings, bytes pass through memory that both sides map.
class DataChannelOnASocketTest : public DataChannelTest {};

INSTANTIATE_TEST_SUITE_P(Socket, DataChannelOnASocketTest, ::testing::Values(false));

TEST_P(DataChannelOnASocketTest, BytesOfAReadMayBeSplitAnywhere) {
  const std::string text = "0123456789abcdef";
  const auto bytes = ScriptedDaemon::DataFrame(1, text);
  for (std::size_t split = 1; split < bytes.size(); ++split) {
    Start();
    std::thread daemon([&] {
      daemon_->Next();
      const auto all = absl::MakeConstSpan(bytes);
      daemon_->Send(all.subspan(0, split));
      daemon_->AwaitTaken();
      daemon_->Send(all.subspan(split));
    });
    EXPECT_EQ(Read(text.size()), text);
    daemon.join();
  }
}

TEST_P(DataChannelOnASocketTest, AResultMayBeSplitAnywhere) {
  std::vector<std::byte> bytes;
  frames::Append(1, {.status = {}, .value = Address{77}}, bytes);
  for (std::size_t split = 1; split < bytes.size(); ++split) {
    Start();
    std::thread daemon([&] {
      daemon_->Next();
      const auto all = absl::MakeConstSpan(bytes);
      daemon_->Send(all.subspan(0, split));
      daemon_->AwaitTaken();
      daemon_->Send(all.subspan(split));
    });
    EXPECT_EQ(Ask(kSynchronize).value, CommandValue(Address{77}));
    daemon.join();
  }
}

TEST_P(DataChannelOnASocketTest, ALargeReadIsDoneWithItsLastPiece) {
  const std::size_t size = 3'000'000;
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(i * 7 + i / 1000));
  std::thread daemon([&] {
    std::size_t at = 0;
    for (std::uint64_t number = 1; at < size; ++number) {
      const SentFrame frame = daemon_->Next();
      const auto read = std::get<command::Read>(frame.command()->action);
      EXPECT_EQ(read.source, 0x100 + at);
      daemon_->Send(
          ScriptedDaemon::DataFrame(number, std::string_view(text).substr(at, read.size_bytes)));
      at += read.size_bytes;
    }
  });
  EXPECT_EQ(Read(size), text);
  daemon.join();
}

TEST_P(DataChannelOnASocketTest, AReadThatFailsReturnsItsError) {
  std::thread daemon([&] {
    daemon_->Next();
    daemon_->SendResult(1, {.status = DeviceError("The device is on fire."), .value = {}});
  });
  EXPECT_THAT(Read(16), HasSubstr("The device is on fire."));
  daemon.join();
}

TEST_P(DataChannelOnASocketTest, AReadThatEndsWithoutItsBytesClosesIt) {
  std::thread daemon([&] {
    daemon_->Next();
    daemon_->SendFinished(1);
  });
  EXPECT_THAT(Read(16), HasSubstr("the end of a read without its bytes"));
  daemon.join();
}

TEST_P(DataChannelOnASocketTest, BytesOfAnotherSizeThanWasReadCloseIt) {
  std::thread daemon = AnswerWith(ScriptedDaemon::DataFrame(1, "too many bytes"));
  EXPECT_THAT(Read(4), HasSubstr("14 bytes of a read of 4"));
  daemon.join();
}

TEST_P(DataChannelOnASocketTest, ALargeWriteComesWholeAndCommandsKeepTheirPlace) {
  std::string text;
  for (int i = 0; i < 3'000'000; ++i) text.push_back(static_cast<char>(i * 11 + i / 999));
  std::string written;
  std::thread daemon([&] {
    std::uint64_t frames = 0;
    while (true) {
      const SentFrame frame = daemon_->Next();
      ++frames;
      const absl::StatusOr<Command> command = frame.command();
      if (!command.ok() || !std::holds_alternative<command::Write>(command->action)) break;
      EXPECT_EQ(std::get<command::Write>(command->action).target, 0x100 + written.size());
      written += frame.data();
    }
    daemon_->SendFinished(frames);
  });
  channel_->Write(0x100, BytesOf(text), kDefaultStream, nullptr);
  EXPECT_THAT(Ask(kSynchronize).status, IsOk());
  daemon.join();
  EXPECT_EQ(written, text);
}

TEST_P(DataChannelOnASocketTest, MapsNothing) {
  EXPECT_FALSE(channel_->CanMap());
  EXPECT_THAT(channel_->Map(0x100, 8).status(), HasReason(reason::kUnsupported));
  // Host memory is just memory.
  const auto host = channel_->AllocateHost(5000);
  ASSERT_THAT(host.status(), IsOk());
  std::memset(host->get(), 1, 5000);
}

}  // namespace
}  // namespace acceld
