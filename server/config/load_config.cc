#include "server/config/load_config.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "backends/core/status.h"
#include "backends/core/unique_fd.h"
#include "fmt/format.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "server/config/config.pb.h"
#include "server/config/config_checks.h"

namespace acceld {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr Range kAnyMemoryBytes{0, std::uint64_t{1} << 50};
constexpr Range kMemoryBytes{std::uint64_t{1} << 20, std::uint64_t{1} << 50};
constexpr Range kSocketModes{0, 0777};
constexpr Range kSessions{1, 1000000};
constexpr Range kConnections{1, 20000};
constexpr Range kHandshakeTimeoutMs{1, 600000};
constexpr Range kMessageBytes{65536, std::uint64_t{1} << 30};
constexpr Range kCommandsPerMessage{1, 1000000};
constexpr Range kInFlightBytes{std::uint64_t{1} << 20, std::uint64_t{1} << 40};
constexpr Range kObjectsOfSession{1, 10000000};
constexpr Range kProgramItems{1, 65536};
constexpr Range kProgramBytes{65536, std::uint64_t{1} << 40};
constexpr Range kIdleTimeoutMs{100, 86400000};
constexpr Range kRingBytes{0, 16777216};
constexpr Range kStagingBytes{65536, 1073741824};
constexpr Range kFrameTimeoutMs{100, 600000};

absl::Status ErrorAt(std::string_view file, int line, int column, std::string_view message) {
  return InvalidArgument(OneLine(fmt::format("{}:{}:{}: {}", file, line + 1, column + 1, message)));
}

// Keeps the first of the parser's errors, of which the others are often only consequences.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string_view file) : file_(file) {}

  void AddError(int line, int column, const std::string& message) override {
    if (status_.ok()) status_ = ErrorAt(file_, line, column, message);
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string file_;
  absl::Status status_;
};

// Moves the fields of one message into plain variables, those that are set, and keeps the first
// error. `message` and `places` are null for a message that is not set.
class FieldReader {
 public:
  FieldReader(std::string_view file, std::string path, const Message* message,
              const TextFormat::ParseInfoTree* places)
      : file_(file), path_(std::move(path)), message_(message), places_(places) {}

  const absl::Status& status() const { return status_; }

  template <typename T>
  void Number(const char* name, Range range, T& value) {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr) return;
    const std::uint64_t number = field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64
                                     ? message_->GetReflection()->GetUInt64(*message_, field)
                                     : message_->GetReflection()->GetUInt32(*message_, field);
    Keep(field, -1, CheckRange(path_ + name, number, range));
    value = T(number);
  }

  void Bool(const char* name, bool& value) {
    const FieldDescriptor* field = Find(name);
    if (field != nullptr) value = message_->GetReflection()->GetBool(*message_, field);
  }

  void Text(const char* name, std::string& value) {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr) return;
    value = message_->GetReflection()->GetString(*message_, field);
    if (value.empty()) {
      Keep(field, -1, InvalidArgument(fmt::format("{}{} is empty.", path_, name)));
    }
  }

  // Of an enum's values, by name.
  template <typename Choice>
  void OneOf(const char* name, Choice& value) {
    std::string text;
    Text(name, text);
    const FieldDescriptor* field = Find(name);
    if (field == nullptr) return;
    auto parsed = ParseAs(value, path_ + name, text);
    Keep(field, -1, parsed.status());
    if (parsed.ok()) value = *parsed;
  }

  void Texts(const char* name, absl::Status (*check)(std::string_view, std::string_view),
             std::vector<std::string>& values) {
    if (message_ == nullptr) return;
    const FieldDescriptor* field = message_->GetDescriptor()->FindFieldByName(name);
    const int count = message_->GetReflection()->FieldSize(*message_, field);
    for (int i = 0; i < count; ++i) {
      values.push_back(message_->GetReflection()->GetRepeatedString(*message_, field, i));
      Keep(field, i, check(path_ + name, values.back()));
    }
  }

  // A reader of the message in field `name`.
  FieldReader Nested(const char* name) const {
    const FieldDescriptor* field = Find(name);
    if (field == nullptr) return FieldReader(file_, "", nullptr, nullptr);
    return FieldReader(file_, fmt::format("{}{}.", path_, name),
                       &message_->GetReflection()->GetMessage(*message_, field),
                       places_->GetTreeForNested(field, -1));
  }

 private:
  template <typename E>
  static absl::StatusOr<E> ParseAs(const E&, const std::string& name, std::string_view text) {
    return ParseChoice<E>(name, text);
  }
  template <typename E>
  static absl::StatusOr<E> ParseAs(const std::optional<E>&, const std::string& name,
                                   std::string_view text) {
    return ParseChoice<E>(name, text);
  }

  // The field, if it is set.
  const FieldDescriptor* Find(const char* name) const {
    if (message_ == nullptr) return nullptr;
    const FieldDescriptor* field = message_->GetDescriptor()->FindFieldByName(name);
    return message_->GetReflection()->HasField(*message_, field) ? field : nullptr;
  }

  void Keep(const FieldDescriptor* field, int index, const absl::Status& status) {
    if (status.ok() || !status_.ok()) return;
    const TextFormat::ParseLocation place = places_->GetLocation(field, index);
    const absl::string_view message = status.message();
    status_ = ErrorAt(file_, place.line, place.column, {message.data(), message.size()});
  }

  const std::string file_;
  const std::string path_;
  const Message* const message_;
  const TextFormat::ParseInfoTree* const places_;
  absl::Status status_;
};

// 0 is the default, and anything else is in the range.
void ReadMemoryLimit(FieldReader& fields, std::uint64_t& limit_bytes) {
  fields.Number("memory_limit_bytes", kAnyMemoryBytes, limit_bytes);
  if (limit_bytes != 0) fields.Number("memory_limit_bytes", kMemoryBytes, limit_bytes);
}

absl::Status ReadCpu(FieldReader fields, Config& config) {
  fields.Number("threads", kCpuThreadsRange, config.cpu_threads);
  ReadMemoryLimit(fields, config.cpu_memory_limit_bytes);
  return fields.status();
}

absl::Status ReadCuda(FieldReader fields, Config& config) {
  ReadMemoryLimit(fields, config.cuda_memory_limit_bytes);
  return fields.status();
}

absl::Status ReadLimits(FieldReader fields, Limits& limits) {
  fields.Number("max_sessions", kSessions, limits.max_sessions);
  fields.Number("max_connections", kConnections, limits.max_connections);
  fields.Number("max_pending_connections", kConnections, limits.max_pending_connections);
  fields.Number("handshake_timeout_ms", kHandshakeTimeoutMs, limits.handshake_timeout);
  fields.Number("max_message_bytes", kMessageBytes, limits.max_message_bytes);
  fields.Number("max_commands_per_message", kCommandsPerMessage, limits.max_commands_per_message);
  fields.Number("max_in_flight_commands", kObjectsOfSession, limits.max_in_flight_commands);
  fields.Number("max_in_flight_bytes", kInFlightBytes, limits.max_in_flight_bytes);
  fields.Number("max_streams", kObjectsOfSession, limits.max_streams);
  fields.Number("max_events", kObjectsOfSession, limits.max_events);
  fields.Number("max_allocations", kObjectsOfSession, limits.max_allocations);
  fields.Number("max_programs", kObjectsOfSession, limits.max_programs);
  fields.Number("max_program_items", kProgramItems, limits.max_program_items);
  fields.Number("max_program_bytes", kProgramBytes, limits.max_program_bytes);
  fields.Number("session_idle_timeout_ms", kIdleTimeoutMs, limits.session_idle_timeout);
  fields.Number("max_host_memory_bytes", kMemoryBytes, limits.max_host_memory_bytes);
  fields.Number("ring_bytes", kRingBytes, limits.ring_bytes);
  fields.Number("staging_bytes", kStagingBytes, limits.staging_bytes);
  fields.Number("frame_timeout_ms", kFrameTimeoutMs, limits.frame_timeout);
  return fields.status();
}

absl::Status ReadLog(FieldReader fields, Config& config) {
  fields.OneOf("level", config.log_level);
  fields.OneOf("format", config.log_format);
  return fields.status();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const auto failed = [&path](int error) {
    return absl::ErrnoToStatus(error, fmt::format("Cannot read the configuration file {}", path));
  };
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return failed(errno);
  std::string text(kMaxConfigFileBytes + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t count = read(file.get(), text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno);
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  if (length > kMaxConfigFileBytes) {
    return InvalidArgument(fmt::format("The configuration file {} is larger than {} bytes.", path,
                                       kMaxConfigFileBytes));
  }
  text.resize(length);
  return text;
}

}  // namespace

absl::StatusOr<Config> ParseConfig(std::string_view text, std::string_view name) {
  config::Config message;
  FirstError first_error(name);
  TextFormat::ParseInfoTree places;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&first_error);
  parser.WriteLocationsTo(&places);
  if (!parser.ParseFromString(std::string(text), &message)) {
    if (!first_error.status().ok()) return first_error.status();
    return InvalidArgument(fmt::format("{} is not a configuration file.", name));
  }

  Config config;
  FieldReader fields(name, "", &message, &places);
  fields.Text("socket", config.socket);
  fields.Number("socket_mode", kSocketModes, config.socket_mode);
  fields.Texts("listen", CheckListen, config.listen);
  fields.OneOf("backend", config.backend);
  fields.Text("plugin_folder", config.plugin_folder);
  fields.Number("drain_timeout_ms", kDrainTimeoutMsRange, config.drain_timeout);
  fields.Texts("admins", CheckIdentity, config.admins);
  fields.Bool("allow_direct_opening", config.allow_direct_opening);
  ACCELD_RETURN_IF_ERROR(fields.status());
  ACCELD_RETURN_IF_ERROR(ReadCpu(fields.Nested("cpu"), config));
  ACCELD_RETURN_IF_ERROR(ReadCuda(fields.Nested("cuda"), config));
  ACCELD_RETURN_IF_ERROR(ReadLimits(fields.Nested("limits"), config.limits));
  ACCELD_RETURN_IF_ERROR(ReadLog(fields.Nested("log"), config));
  return config;
}

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  ACCELD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseConfig(text, path);
}

}  // namespace acceld
