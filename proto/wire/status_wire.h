// Errors between absl::Status, whose reason is a payload (backends/core/status.h), and acceld.v1.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "acceld/v1/status.pb.h"

namespace acceld {

// The domain of all our reasons.
inline constexpr std::string_view kErrorDomain = "acceld";

// Longer messages are cut, in either direction.
inline constexpr std::size_t kMaxStatusMessageBytes = 4096;
inline constexpr std::size_t kMaxReasonBytes = 63;

// Sets every field of `wire`. The message becomes valid UTF-8. The other payloads of `status` are
// not sent.
void ToWire(const absl::Status& status, v1::Status& wire);

// A code outside 0 to 16 becomes kUnknown. A reason of a foreign domain is left out.
absl::Status FromWire(const v1::Status& wire);

// The status of any code a peer sent, its message cut to kMaxStatusMessageBytes.
absl::Status StatusFromWire(int code, std::string_view message);

// Sets `info` to the reason of `status`. Returns whether there is one.
bool ErrorInfoToWire(const absl::Status& status, v1::ErrorInfo& info);

// `status` with the reason in `info`, if that is one of ours.
absl::Status WithErrorInfo(absl::Status status, const v1::ErrorInfo& info);

}  // namespace acceld
