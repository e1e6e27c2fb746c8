#include "proto/wire/bulk_wire.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace acceld {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

enum : int {
  kVarint = WireFormatLite::WIRETYPE_VARINT,
  kFixed64 = WireFormatLite::WIRETYPE_FIXED64,
  kBytes = WireFormatLite::WIRETYPE_LENGTH_DELIMITED,
};

// Field numbers of acceld.v1.
constexpr int kWriteRequestData = 2;
constexpr int kReadResponseData = 1;
constexpr int kSubmitRequestCommands = 2;
constexpr int kCommandStream = 1;
constexpr int kCommandWrite = 3;
constexpr int kWriteMemoryTarget = 1;
constexpr int kWriteMemoryData = 2;
constexpr int kSubmitResponseFinishedSequence = 1;
constexpr int kSubmitResponseResults = 2;
constexpr int kCommandResultSequence = 1;
constexpr int kCommandResultData = 4;

// Of one byte: all fields here are below 16.
constexpr std::uint8_t Tag(int field, int wire_type) {
  return static_cast<std::uint8_t>(field << 3 | wire_type);
}

// Protobuf refuses longer ones.
constexpr int kMaxLengthBytes = 5;
constexpr int kMaxVarintBytes = 10;

// Reads a message from its start. What fails leaves the reader anywhere.
class PieceReader {
 public:
  explicit PieceReader(const Pieces& pieces) : pieces_(pieces), left_(TotalBytes(pieces)) {}

  // Steps over the field's tag if it is what comes next.
  bool Take(int field, int wire_type) {
    if (left_ == 0 || Peek() != Tag(field, wire_type)) return false;
    Step();
    return true;
  }

  // A number; nothing where it is cut off, too long or over 64 bits.
  bool Varint(std::uint64_t& value, int max_bytes = kMaxVarintBytes) {
    value = 0;
    for (int i = 0; i < max_bytes && left_ > 0; ++i) {
      const std::uint64_t byte = Step();
      if (i == kMaxVarintBytes - 1 && byte > 1) return false;
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool Fixed64(std::uint64_t& value) {
    if (left_ < 8) return false;
    value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t{Step()} << (8 * i);
    return true;
  }

  // A bytes field or message that is all that is left.
  bool TakeLast(int field) {
    std::uint64_t bytes = 0;
    return Take(field, kBytes) && Varint(bytes, kMaxLengthBytes) && bytes == left_;
  }

  Pieces Rest() {
    Pieces rest;
    for (; left_ > 0; offset_ = 0, ++piece_) {
      const auto piece = pieces_[piece_].subspan(offset_);
      if (!piece.empty()) rest.push_back(piece);
      left_ -= piece.size();
    }
    return rest;
  }

 private:
  std::uint8_t Peek() {
    while (offset_ == pieces_[piece_].size()) {
      ++piece_;
      offset_ = 0;
    }
    return static_cast<std::uint8_t>(pieces_[piece_][offset_]);
  }

  std::uint8_t Step() {
    const std::uint8_t byte = Peek();
    ++offset_;
    --left_;
    return byte;
  }

  const Pieces& pieces_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;
  std::uint64_t left_;
};

void PutVarint(std::uint64_t value, std::string& out) {
  std::uint8_t bytes[kMaxVarintBytes];
  const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  out.append(reinterpret_cast<const char*>(bytes), end - bytes);
}

void PutTag(int field, int wire_type, std::string& out) {
  out.push_back(static_cast<char>(Tag(field, wire_type)));
}

// The head of a bytes field or message.
void PutLength(int field, std::uint64_t bytes, std::string& out) {
  PutTag(field, kBytes, out);
  PutVarint(bytes, out);
}

// proto3 leaves out what is 0.
void PutNumber(int field, std::uint64_t value, std::string& out) {
  if (value == 0) return;
  PutTag(field, kVarint, out);
  PutVarint(value, out);
}

// `inner` behind `outer` and its own head, as the start of a message of `bytes` more bytes.
std::string Nested(std::string outer, int field, const std::string& inner, std::uint64_t bytes) {
  PutLength(field, inner.size() + bytes, outer);
  return outer + inner;
}

}  // namespace

std::uint64_t TotalBytes(const Pieces& pieces) {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  return bytes;
}

std::optional<Pieces> FindWriteData(const Pieces& message) {
  PieceReader reader(message);
  if (!reader.TakeLast(kWriteRequestData)) return std::nullopt;
  return reader.Rest();
}

void AppendCommand(const v1::Command& command, std::string& request) {
  const std::size_t bytes = static_cast<std::size_t>(command.GetCachedSize());
  PutLength(kSubmitRequestCommands, bytes, request);
  const std::size_t start = request.size();
  request.resize(start + bytes);
  command.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(&request[start]));
}

std::string BulkWritePrefix(Stream stream, Address target, std::uint64_t bytes) {
  std::string write;
  if (target != 0) {
    PutTag(kWriteMemoryTarget, kFixed64, write);
    for (int i = 0; i < 8; ++i) write.push_back(static_cast<char>(target >> (8 * i)));
  }
  PutLength(kWriteMemoryData, bytes, write);
  std::string command;
  PutNumber(kCommandStream, static_cast<std::uint64_t>(stream), command);
  command = Nested(std::move(command), kCommandWrite, write, bytes);
  return Nested({}, kSubmitRequestCommands, command, bytes);
}

std::optional<BulkWrite> FindBulkWrite(const Pieces& message) {
  PieceReader reader(message);
  std::uint64_t stream = 0;
  std::uint64_t target = 0;
  if (!reader.TakeLast(kSubmitRequestCommands)) return std::nullopt;
  if (reader.Take(kCommandStream, kVarint) && !reader.Varint(stream)) return std::nullopt;
  if (!reader.TakeLast(kCommandWrite)) return std::nullopt;
  if (reader.Take(kWriteMemoryTarget, kFixed64) && !reader.Fixed64(target)) return std::nullopt;
  if (!reader.TakeLast(kWriteMemoryData)) return std::nullopt;
  return BulkWrite{.stream = Stream{stream}, .target = target, .data = reader.Rest()};
}

std::string ReadResponsePrefix(std::uint64_t bytes) {
  std::string prefix;
  PutLength(kReadResponseData, bytes, prefix);
  return prefix;
}

std::string BulkResultPrefix(std::uint64_t finished_sequence, std::uint64_t sequence,
                             std::uint64_t bytes) {
  std::string result;
  PutNumber(kCommandResultSequence, sequence, result);
  PutLength(kCommandResultData, bytes, result);
  std::string response;
  PutNumber(kSubmitResponseFinishedSequence, finished_sequence, response);
  return Nested(std::move(response), kSubmitResponseResults, result, bytes);
}

std::optional<BulkResult> FindBulkResult(const Pieces& message) {
  PieceReader reader(message);
  BulkResult result;
  if (reader.Take(kSubmitResponseFinishedSequence, kVarint) &&
      !reader.Varint(result.finished_sequence)) {
    return std::nullopt;
  }
  if (!reader.TakeLast(kSubmitResponseResults)) return std::nullopt;
  if (reader.Take(kCommandResultSequence, kVarint) && !reader.Varint(result.sequence)) {
    return std::nullopt;
  }
  if (!reader.TakeLast(kCommandResultData)) return std::nullopt;
  result.data = reader.Rest();
  return result;
}

}  // namespace acceld
