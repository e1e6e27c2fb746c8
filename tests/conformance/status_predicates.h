// What the suite asserts about an absl::Status or absl::StatusOr. A failure prints the status.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace acceld::conformance {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

namespace internal {
testing::AssertionResult StatusHasCode(const absl::Status& status, absl::StatusCode code);
testing::AssertionResult StatusHasReason(const absl::Status& status, std::string_view reason);
testing::AssertionResult StatusMentions(const absl::Status& status,
                                        std::initializer_list<std::string_view> words);
}  // namespace internal

template <typename S>
testing::AssertionResult HasCode(const S& status, absl::StatusCode code) {
  return internal::StatusHasCode(StatusOf(status), code);
}

template <typename S>
testing::AssertionResult IsOk(const S& status) {
  return HasCode(status, absl::StatusCode::kOk);
}

template <typename S>
testing::AssertionResult HasReason(const S& status, std::string_view reason) {
  return internal::StatusHasReason(StatusOf(status), reason);
}

// The message has each of `words`, ignoring case.
template <typename S>
testing::AssertionResult Mentions(const S& status, std::initializer_list<std::string_view> words) {
  return internal::StatusMentions(StatusOf(status), words);
}

// An invalid argument whose message has each of `words`.
template <typename S>
testing::AssertionResult IsInvalidArgument(const S& status,
                                           std::initializer_list<std::string_view> words = {}) {
  const testing::AssertionResult code = HasCode(status, absl::StatusCode::kInvalidArgument);
  return code ? Mentions(status, words) : code;
}

}  // namespace acceld::conformance
