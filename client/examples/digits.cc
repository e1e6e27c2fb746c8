#include "client/examples/digits.h"

#include <zlib.h>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "backends/core/status.h"
#include "client/examples/digits_data.h"
#include "fmt/format.h"

namespace acceld::examples {
namespace {

constexpr int kLargestPixel = 16;

// About four times what the text needs: a bound on what a damaged file may unpack to.
constexpr std::size_t kTextLimitBytes = 1 << 20;

absl::StatusOr<std::string> Unpack() {
  z_stream stream{};
  // The sum selects the gzip format with the largest window.
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return DeviceError("zlib does not start.");
  std::string text(kTextLimitBytes, '\0');
  stream.next_in = const_cast<Bytef*>(kDigitsGzip);
  stream.avail_in = static_cast<uInt>(kDigitsGzipBytes);
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_FINISH);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return InvalidArgument("The digits cannot be unpacked.");
  return text;
}

// Reads a number from the front of `text` and removes it with the separator behind it.
absl::StatusOr<int> TakeNumber(std::string_view& text, char separator, int limit, int line) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || value < 0 || value > limit) {
    return InvalidArgument(fmt::format(
        "Line {} of the digits has no number from 0 to {} where one is due.", line, limit));
  }
  if (digits == text.size() || text[digits] != separator) {
    return InvalidArgument(
        fmt::format("Line {} of the digits does not have {} numbers.", line, kPixels + 1));
  }
  text.remove_prefix(digits + 1);
  return value;
}

}  // namespace

absl::StatusOr<Digits> LoadDigits() {
  ACCELD_ASSIGN_OR_RETURN(const std::string text, Unpack());
  Digits digits;
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    for (std::int64_t i = 0; i < kPixels; ++i) {
      ACCELD_ASSIGN_OR_RETURN(const int pixel, TakeNumber(rest, ',', kLargestPixel, line));
      digits.pixels.push_back(static_cast<float>(pixel) / kLargestPixel);
    }
    ACCELD_ASSIGN_OR_RETURN(const int label, TakeNumber(rest, '\n', kClasses - 1, line));
    digits.labels.push_back(label);
  }
  return digits;
}

}  // namespace acceld::examples
