// A context on a device whose work the test holds back and fails as it likes.
#pragma once

#include <array>
#include <memory>

#include "backends/context/device_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/faulty_device.h"
#include "tests/unit/backends/context/host_device.h"
#include "tests/unit/backends/context/outcome.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {

// `sink`, which outlives the context it is for.
inline std::shared_ptr<WorkSink> Unowned(WorkSink& sink) {
  return {std::shared_ptr<void>(), &sink};
}

// Everything happens in the test's thread: inside a call where the gate is open, else in OpenGate.
class ContextTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 16;
  // Queues are numbered as they are made.
  static constexpr DeviceQueue kDefaultQueue{1};

  using Done = Outcome<absl::Status>;
  using Buffer = std::array<std::byte, kBytes>;

  // A device that takes `queue_depth` pieces of work of a queue.
  explicit ContextTest(std::size_t queue_depth = 1) {
    auto host = std::make_unique<HostDevice>();
    host_ = host.get();
    host->depth = queue_depth;
    device_ = std::make_unique<FaultyDevice>(std::move(host));
    context_ = MakeContext({});
  }

  ~ContextTest() override {
    device_->OpenGate();
    if (context_ != nullptr) context_->Close();
    context_.reset();
    EXPECT_EQ(device_->live_bytes(), 0u);
  }

  std::shared_ptr<DeviceContext> MakeContext(const ContextLimits& limits) {
    return *DeviceContext::Create(*device_, Unowned(*device_), limits);
  }

  Address Alloc(std::uint64_t bytes = kBytes) { return *context_->Alloc(bytes, {}); }
  Stream NewStream() { return *context_->CreateStream({}); }
  Event NewEvent() { return *context_->CreateEvent(); }

  // Each submits one thing, and returns what its callback gets.
  Done Fill(Address target, std::uint8_t value, Stream stream = kDefaultStream) {
    Done done;
    EXPECT_THAT(
        context_->Run(ops::Memset{.target = target, .value = value, .bytes = kBytes}, stream, done),
        IsOk());
    return done;
  }
  Done Write(Address target, absl::Span<const std::byte> source, Stream stream = kDefaultStream,
             std::shared_ptr<const void> host = nullptr) {
    Done done;
    EXPECT_THAT(context_->Write(target, source, stream, std::move(host), done), IsOk());
    return done;
  }
  Done Read(Buffer& target, Address source, Stream stream = kDefaultStream,
            bool takes_error = true) {
    Done done;
    EXPECT_THAT(context_->Read(absl::MakeSpan(target), source, stream, takes_error, nullptr, done),
                IsOk());
    return done;
  }
  Done Record(Event event, Stream stream = kDefaultStream) {
    Done done;
    EXPECT_THAT(context_->RecordEvent(event, stream, done), IsOk());
    return done;
  }
  Done Wait(Stream stream, Event event) {
    Done done;
    EXPECT_THAT(context_->WaitEvent(stream, event, done), IsOk());
    return done;
  }
  Done SynchronizeEvent(Event event) {
    Done done;
    EXPECT_THAT(context_->SynchronizeEvent(event, done), IsOk());
    return done;
  }
  Done SynchronizeStream(Stream stream) {
    Done done;
    EXPECT_THAT(context_->SynchronizeStream(stream, done), IsOk());
    return done;
  }
  Done Synchronize() {
    Done done;
    EXPECT_THAT(context_->Synchronize(done), IsOk());
    return done;
  }

  // The byte at `address`, read past all streams' order and errors.
  int ByteAt(Address address) {
    Buffer buffer{};
    const Stream stream = NewStream();
    EXPECT_THAT(Read(buffer, address, stream).Get(), IsOk());
    EXPECT_THAT(context_->DestroyStream(stream), IsOk());
    return static_cast<int>(buffer[0]);
  }

  const absl::Status kFault = DeviceError("The device is on fire.");
  const absl::Status kOtherFault = DeviceError("The device is under water.");

  HostDevice* host_;
  std::unique_ptr<FaultyDevice> device_;
  std::shared_ptr<DeviceContext> context_;
};

}  // namespace acceld
