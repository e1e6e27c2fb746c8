#include "proto/frames/command_frame.h"

#include <utility>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "proto/frames/fields.h"
#include "proto/frames/pack.h"

namespace acceld::frames {
namespace {

// What has fields of its own is packed field by field.
template <typename T>
concept HasFields = requires(T& value) {
  Fields(value);
};

// Lists of what is no number.
void Pack(Packer& packer, std::vector<ProgramItem>& items);
void Pack(Packer& packer, std::vector<Rebinding>& rebindings);
void Unpack(Unpacker& unpacker, std::vector<ProgramItem>& items);
void Unpack(Unpacker& unpacker, std::vector<Rebinding>& rebindings);

template <typename T>
void Pack(Packer& packer, T& value) {
  if constexpr (HasFields<T>) {
    std::apply([&](auto&... fields) { (Pack(packer, fields), ...); }, Fields(value));
  } else {
    packer.Put(value);
  }
}

template <typename T>
void Unpack(Unpacker& unpacker, T& value) {
  if constexpr (HasFields<T>) {
    std::apply([&](auto&... fields) { (Unpack(unpacker, fields), ...); }, Fields(value));
  } else {
    unpacker.Take(value);
  }
}

// Sets `variant` to its alternative at `index`, which exists, and unpacks its fields.
template <std::size_t kIndex = 0, typename Variant>
void UnpackAlternative(std::size_t index, Unpacker& unpacker, Variant& variant) {
  if constexpr (kIndex < std::variant_size_v<Variant>) {
    if (index != kIndex) return UnpackAlternative<kIndex + 1>(index, unpacker, variant);
    using Alternative = std::variant_alternative_t<kIndex, Variant>;
    if constexpr (HasFields<Alternative>) Unpack(unpacker, variant.template emplace<kIndex>());
  }
}

// An item of a program is its kind, one of these or the place of its op in Op, counted from
// kFirstOp; then the event or the op's fields.
constexpr std::uint64_t kWaitItem = 0;
constexpr std::uint64_t kRecordItem = 1;
constexpr std::uint64_t kFirstOp = 2;

// What the shortest item takes.
constexpr std::size_t kMinItemBytes = 16;

void Pack(Packer& packer, std::vector<ProgramItem>& items) {
  packer.Put(std::uint64_t{items.size()});
  for (ProgramItem& item : items) {
    if (Op* op = std::get_if<Op>(&item)) {
      packer.Put(kFirstOp + op->index());
      std::visit([&](auto& typed) { Pack(packer, typed); }, *op);
    } else {
      const EventItem& event = std::get<EventItem>(item);
      packer.Put(event.records ? kRecordItem : kWaitItem);
      packer.Put(event.event);
    }
  }
}

void Unpack(Unpacker& unpacker, std::vector<ProgramItem>& items) {
  const std::size_t count = unpacker.TakeCount(kMinItemBytes);
  // Before memory is taken for them: an item is much larger as a struct.
  if (count > kMaxProgramItems) return unpacker.Fail();
  items.resize(count);
  for (ProgramItem& item : items) {
    std::uint64_t kind = 0;
    unpacker.Take(kind);
    if (unpacker.failed() || kind >= kFirstOp + kOpCount) return unpacker.Fail();
    if (kind >= kFirstOp) {
      UnpackAlternative(kind - kFirstOp, unpacker, item.emplace<Op>());
    } else {
      EventItem& event = item.emplace<EventItem>();
      event.records = kind == kRecordItem;
      unpacker.Take(event.event);
    }
  }
}

void Pack(Packer& packer, std::vector<Rebinding>& rebindings) {
  packer.Put(std::uint64_t{rebindings.size()});
  for (Rebinding& rebinding : rebindings) Pack(packer, rebinding);
}

void Unpack(Unpacker& unpacker, std::vector<Rebinding>& rebindings) {
  rebindings.resize(unpacker.TakeCount(sizeof(Rebinding)));
  for (Rebinding& rebinding : rebindings) Unpack(unpacker, rebinding);
}

// Begins a frame at the end of a buffer; its payload is what is appended until it goes.
class FrameWriter {
 public:
  FrameWriter(std::size_t kind, std::size_t detail, std::uint64_t number,
              std::vector<std::byte>& buffer)
      : header_{.kind = static_cast<std::uint16_t>(kind),
                .detail = static_cast<std::uint16_t>(detail),
                .number = number},
        buffer_(buffer),
        start_(buffer.size()) {
    Packer(buffer).PutBytes(&header_, sizeof header_);
  }
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  ~FrameWriter() {
    header_.payload_bytes =
        static_cast<std::uint32_t>(buffer_.size() - start_ - sizeof header_ + more_bytes_);
    std::memcpy(buffer_.data() + start_, &header_, sizeof header_);
  }

  // Bytes that belong to the payload and do not go through the buffer.
  void AddBytes(std::size_t bytes) { more_bytes_ += bytes; }

 private:
  Header header_;
  std::vector<std::byte>& buffer_;
  const std::size_t start_;
  std::size_t more_bytes_ = 0;
};

constexpr std::size_t kRun = 1;
constexpr std::size_t kWrite = 2;
static_assert(
    std::is_same_v<std::variant_alternative_t<kRun - 1, decltype(Command::action)>, command::Run>);
static_assert(std::is_same_v<std::variant_alternative_t<kWrite - 1, decltype(Command::action)>,
                             command::Write>);

// Values of a result other than bytes.
void PutValue(Packer&, std::monostate) {}
void PutValue(Packer&, const std::string&) {}
void PutValue(Packer& packer, std::chrono::nanoseconds elapsed) {
  packer.Put(std::int64_t{elapsed.count()});
}
template <typename T>
void PutValue(Packer& packer, T value) {
  packer.Put(value);
}

void TakeValue(Unpacker&, std::monostate&) {}
void TakeValue(Unpacker&, std::string&) {}
void TakeValue(Unpacker& unpacker, std::chrono::nanoseconds& elapsed) {
  std::int64_t count = 0;
  unpacker.Take(count);
  elapsed = std::chrono::nanoseconds(count);
}
template <typename T>
void TakeValue(Unpacker& unpacker, T& value) {
  unpacker.Take(value);
}

template <std::size_t kIndex = 0>
void TakeAlternative(std::size_t index, Unpacker& unpacker, CommandValue& value) {
  if constexpr (kIndex < std::variant_size_v<CommandValue>) {
    if (index != kIndex) return TakeAlternative<kIndex + 1>(index, unpacker, value);
    TakeValue(unpacker, value.emplace<kIndex>());
  }
}

absl::Status Malformed(const Header& header) {
  return InvalidArgument(fmt::format("A frame of kind {} and {} bytes is malformed.", header.kind,
                                     header.payload_bytes));
}

}  // namespace

void Append(const Command& command, std::vector<std::byte>& buffer) {
  const auto* run = std::get_if<command::Run>(&command.action);
  FrameWriter frame(command.action.index() + 1, run != nullptr ? run->op.index() + 1 : 0,
                    static_cast<std::uint64_t>(command.stream), buffer);
  Packer packer(buffer);
  // Fields are stated with references, so that they can be set; here they are only read.
  const auto pack = [&](const auto& value) {
    Pack(packer, const_cast<std::remove_cvref_t<decltype(value)>&>(value));
  };
  if (run != nullptr) return std::visit(pack, run->op);
  std::visit(
      [&](const auto& action) {
        using Action = std::remove_cvref_t<decltype(action)>;
        if constexpr (!std::is_same_v<Action, command::Run>) pack(action);
        if constexpr (std::is_same_v<Action, command::Write>) frame.AddBytes(action.data.size());
      },
      command.action);
}

void Append(Kind kind, std::uint64_t number, std::vector<std::byte>& buffer) {
  const FrameWriter frame(static_cast<std::size_t>(kind), 0, 0, buffer);
  Packer(buffer).Put(number);
}

void Append(Kind kind, Stream stream, const SharedCopy& copy, std::vector<std::byte>& buffer) {
  const FrameWriter frame(static_cast<std::size_t>(kind), 0, static_cast<std::uint64_t>(stream),
                          buffer);
  Packer packer(buffer);
  SharedCopy fields = copy;
  Pack(packer, fields);
}

std::size_t FieldBytes(const Header& header) {
  const std::size_t bytes = header.payload_bytes;
  return header.kind == kWrite ? std::min(bytes, sizeof(Address)) : bytes;
}

absl::StatusOr<Command> ToCommand(const Header& header, absl::Span<const std::byte> fields) {
  Command command{.stream = Stream{header.number}, .action = {}};
  Unpacker unpacker(fields);
  if (header.kind == kRun) {
    if (header.detail == 0 || header.detail > kOpCount) return Malformed(header);
    UnpackAlternative(header.detail - 1u, unpacker, command.action.emplace<command::Run>().op);
  } else {
    if (header.kind == 0 || header.kind > kCommandKinds || header.detail != 0) {
      return Malformed(header);
    }
    UnpackAlternative(header.kind - 1u, unpacker, command.action);
  }
  if (!unpacker.Done()) return Malformed(header);
  return command;
}

absl::StatusOr<SharedCopy> ToSharedCopy(absl::Span<const std::byte> payload) {
  SharedCopy copy;
  Unpacker unpacker(payload);
  Unpack(unpacker, copy);
  if (!unpacker.Done()) return InvalidArgument("A frame of a shared copy is malformed.");
  return copy;
}

absl::StatusOr<std::uint64_t> ToNumber(absl::Span<const std::byte> payload) {
  std::uint64_t number = 0;
  Unpacker unpacker(payload);
  unpacker.Take(number);
  if (!unpacker.Done()) return InvalidArgument("A frame that carries one number is malformed.");
  return number;
}

void Append(std::uint64_t number, const CommandResult& result, std::vector<std::byte>& buffer) {
  const FrameWriter frame(static_cast<std::size_t>(Kind::kResult),
                          result.status.ok() ? result.value.index() : 0, number, buffer);
  Packer packer(buffer);
  Put(packer, result.status);
  if (!result.status.ok()) return;
  std::visit([&](const auto& value) { PutValue(packer, value); }, result.value);
}

absl::StatusOr<CommandResult> ToResult(const Header& header, absl::Span<const std::byte> payload) {
  CommandResult result;
  Unpacker unpacker(payload);
  result.status = TakeStatus(unpacker);
  if (result.status.ok()) {
    if (header.detail >= std::variant_size_v<CommandValue>) return Malformed(header);
    TakeAlternative(header.detail, unpacker, result.value);
  }
  if (!unpacker.Done()) return Malformed(header);
  return result;
}

void Append(const Welcome& welcome, std::string_view transport, std::string_view note,
            std::vector<std::byte>& buffer) {
  const FrameWriter frame(static_cast<std::size_t>(Kind::kWelcome), 0, 0, buffer);
  Packer packer(buffer);
  packer.Put(welcome.ring_bytes);
  packer.Put(welcome.staging_bytes);
  packer.Put(transport);
  packer.Put(note);
}

void Append(Kind kind, std::uint64_t number, const absl::Status& status,
            std::vector<std::byte>& buffer) {
  const FrameWriter frame(static_cast<std::size_t>(kind), 0, number, buffer);
  Packer packer(buffer);
  Put(packer, status);
}

void AppendFinished(std::uint64_t number, std::vector<std::byte>& buffer) {
  const FrameWriter frame(static_cast<std::size_t>(Kind::kFinished), 0, number, buffer);
}

}  // namespace acceld::frames
