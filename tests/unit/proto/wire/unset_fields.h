// Finds the fields that a conversion to the wire forgot.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace acceld {

// The paths of the fields of `message`, and of the messages in it, that hold nothing or a default
// value. Fields of a oneof beside the one that is set do not count.
inline std::vector<std::string> UnsetFields(const google::protobuf::Message& message) {
  std::vector<std::string> unset;
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const auto* field = message.GetDescriptor()->field(i);
    if (const auto* oneof = field->real_containing_oneof()) {
      const bool other =
          reflection.HasOneof(message, oneof) && !reflection.HasField(message, field);
      if (other) continue;
    }
    const bool set = field->is_repeated() ? reflection.FieldSize(message, field) > 0
                                          : reflection.HasField(message, field);
    if (!set) {
      unset.push_back(field->name());
    } else if (!field->is_repeated() &&
               field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      for (const std::string& inner : UnsetFields(reflection.GetMessage(message, field))) {
        unset.push_back(field->name() + "." + inner);
      }
    }
  }
  return unset;
}

}  // namespace acceld
