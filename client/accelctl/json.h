// Answers of the daemon, for programs.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace acceld::accelctl {

// `message` in protobuf's JSON mapping (64-bit integers are strings), with the fields' original
// names and with fields that are zero. Ends with a line end.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

}  // namespace acceld::accelctl
