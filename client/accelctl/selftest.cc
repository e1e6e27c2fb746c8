#include "client/accelctl/selftest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <span>

#include "backends/core/status.h"
#include "backends/reference/reference.h"
#include "fmt/format.h"

namespace acceld::accelctl {
namespace {

using Bytes = std::vector<std::byte>;

// The same inputs each time.
constexpr std::uint64_t kSeed = 20240229;

template <typename T>
Bytes RandomArray(std::uint64_t bytes, double low, double high, std::mt19937_64& random) {
  std::vector<T> values(bytes / sizeof(T));
  for (T& value : values) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    value = static_cast<T>(low + (high - low) * unit);
  }
  const auto view = std::as_bytes(std::span(values));
  return {view.begin(), view.end()};
}

Bytes RandomOperand(const Operand& operand, const SelftestCase& test, std::mt19937_64& random) {
  const auto bytes = static_cast<std::uint64_t>(operand.ExtentBytes());
  switch (operand.element_bytes) {
    case 8:
      return RandomArray<double>(bytes, test.low, test.high, random);
    case 4:
      return RandomArray<float>(bytes, test.low, test.high, random);
    default:
      return RandomArray<std::uint8_t>(bytes, 0, 256, random);
  }
}

template <typename T>
double MaxErrorOf(const Bytes& expected, const Bytes& actual) {
  double largest = 1;
  double difference = 0;
  for (std::size_t i = 0; i + sizeof(T) <= expected.size(); i += sizeof(T)) {
    T want;
    T got;
    std::memcpy(&want, &expected[i], sizeof(T));
    std::memcpy(&got, &actual[i], sizeof(T));
    if (std::isfinite(want)) largest = std::max(largest, std::abs(static_cast<double>(want)));
    if (got == want || (std::isnan(got) && std::isnan(want))) continue;
    if (!std::isfinite(got) || !std::isfinite(want)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(static_cast<double>(got) - want));
  }
  return difference / largest;
}

double MaxError(const Operand& operand, const Bytes& expected, const Bytes& actual) {
  switch (operand.element_bytes) {
    case 8:
      return MaxErrorOf<double>(expected, actual);
    case 4:
      return MaxErrorOf<float>(expected, actual);
    default:
      return expected == actual ? 0 : std::numeric_limits<double>::infinity();
  }
}

// Device memory that holds the operands of one op.
class DeviceArrays {
 public:
  explicit DeviceArrays(ComputeBackend& backend) : backend_(backend) {}
  DeviceArrays(const DeviceArrays&) = delete;
  DeviceArrays& operator=(const DeviceArrays&) = delete;
  ~DeviceArrays() {
    for (const Address address : addresses_) (void)backend_.Free(address);
  }

  absl::StatusOr<Address> Add(const Bytes& content) {
    ACCELD_ASSIGN_OR_RETURN(const Address address, backend_.Alloc(content.size()));
    addresses_.push_back(address);
    ACCELD_RETURN_IF_ERROR(backend_.CopyHtoD(address, content));
    return address;
  }

 private:
  ComputeBackend& backend_;
  std::vector<Address> addresses_;
};

// Runs `op` with `arrays` as its operands; those that it writes are read back.
absl::Status RunOnDevice(ComputeBackend& backend, Op op, std::vector<Bytes>& arrays) {
  const OperandList operands = OperandsOf(op);
  DeviceArrays device(backend);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    ACCELD_ASSIGN_OR_RETURN(*operands[i].address, device.Add(arrays[i]));
  }
  std::vector<Address> addresses;
  for (const Operand& operand : operands) addresses.push_back(*operand.address);
  ACCELD_RETURN_IF_ERROR(backend.Run(op));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].Written()) continue;
    ACCELD_RETURN_IF_ERROR(backend.CopyDtoH(absl::MakeSpan(arrays[i]), addresses[i]));
  }
  return absl::OkStatus();
}

void RunOnReference(Op op, std::vector<Bytes>& arrays) {
  const OperandList operands = OperandsOf(op);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    *operands[i].address = reinterpret_cast<Address>(arrays[i].data());
  }
  reference::Run(op);
}

}  // namespace

SelftestResult RunCase(ComputeBackend& backend, const SelftestCase& test) {
  SelftestResult result{
      .op = std::string(OpName(test.op)), .name = test.name, .tolerance = test.tolerance};
  Op op = test.op;
  const OperandList operands = OperandsOf(op);
  std::mt19937_64 random(kSeed);
  std::vector<Bytes> actual;
  for (const Operand& operand : operands) actual.push_back(RandomOperand(operand, test, random));
  std::vector<Bytes> expected = actual;

  const absl::Status status = RunOnDevice(backend, op, actual);
  if (!status.ok()) {
    // In the call where the device does not have the op; later where a library is missing.
    result.outcome = absl::IsUnimplemented(status) ? Outcome::kUnsupported : Outcome::kFailed;
    result.message = std::string(status.message());
    return result;
  }
  RunOnReference(op, expected);
  double max_error = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    max_error = std::max(max_error, MaxError(operands[i], expected[i], actual[i]));
  }
  result.max_error = max_error;
  result.outcome = max_error <= test.tolerance ? Outcome::kOk : Outcome::kWrong;
  return result;
}

absl::Status Verdict(const std::vector<SelftestResult>& results) {
  const auto count = [&results](Outcome outcome) {
    return std::ranges::count(results, outcome, &SelftestResult::outcome);
  };
  const auto wrong = count(Outcome::kWrong);
  const auto failed = count(Outcome::kFailed);
  if (wrong != 0 || failed != 0) {
    return DeviceError(
        fmt::format("Of {} cases {} are wrong and {} failed. Do not use this device; "
                    "the daemon's log may say why.",
                    results.size(), wrong, failed));
  }
  if (count(Outcome::kOk) == 0) {
    return DeviceError("The device runs no operation, so nothing was tested.");
  }
  return absl::OkStatus();
}

}  // namespace acceld::accelctl
