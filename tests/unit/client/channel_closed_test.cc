#include "client/channel_closed.h"

#include "gtest/gtest.h"
#include "tests/unit/backends/core/is_status.h"

namespace acceld {
namespace {

TEST(ChannelClosedTest, WhatATransportSaysMeansThatTheDaemonIsGone) {
  for (const absl::Status& why : {absl::UnavailableError("Broken pipe."), absl::OkStatus(),
                                  absl::InternalError("GOAWAY"), absl::CancelledError("")}) {
    const absl::Status status = WhyClosed(why);
    EXPECT_THAT(status, IsStatus(absl::StatusCode::kUnavailable, "connection to the daemon"));
    EXPECT_THAT(status, HasReason(reason::kConnectionLost));
  }
}

TEST(ChannelClosedTest, ASessionThatWasEndedKeepsItsReason) {
  const absl::Status status =
      WhyClosed(WithReason(absl::CancelledError("It is over."), reason::kSessionEnded));
  EXPECT_THAT(status, IsStatus(absl::StatusCode::kUnavailable,
                               "The daemon has ended the session: It is over."));
  EXPECT_THAT(status, HasReason(reason::kSessionEnded));
}

TEST(ChannelClosedTest, AnErrorOfTheDaemonsOwnStaysAsItIs) {
  EXPECT_EQ(WhyClosed(InvalidArgument("A frame is malformed.")),
            InvalidArgument("A frame is malformed."));
}

}  // namespace
}  // namespace acceld
