#include "tests/conformance/status_predicates.h"

#include <cctype>
#include <string>

#include "backends/core/status.h"

namespace acceld::conformance::internal {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

testing::AssertionResult StatusHasCode(const absl::Status& status, absl::StatusCode code) {
  if (status.code() == code) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << status.ToString() << " is not " << absl::StatusCodeToString(code);
}

testing::AssertionResult StatusHasReason(const absl::Status& status, std::string_view reason) {
  const std::string found = GetReason(status);
  if (found == reason) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.ToString() << " has the reason \"" << found
                                     << "\", not \"" << std::string(reason) << "\"";
}

testing::AssertionResult StatusMentions(const absl::Status& status,
                                        std::initializer_list<std::string_view> words) {
  const std::string message = Lower({status.message().data(), status.message().size()});
  for (std::string_view word : words) {
    if (message.find(Lower(word)) == std::string::npos) {
      return testing::AssertionFailure()
             << status.ToString() << " does not mention \"" << std::string(word) << "\"";
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace acceld::conformance::internal
