#include "client/accelctl/json.h"

#include "backends/core/status.h"
#include "fmt/format.h"
#include "google/protobuf/util/json_util.h"

namespace acceld::accelctl {

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return DeviceError(fmt::format("The daemon's answer cannot be written as JSON: {}.",
                                   std::string(status.message())));
  }
  if (!json.ends_with('\n')) json += '\n';
  return json;
}

}  // namespace acceld::accelctl
