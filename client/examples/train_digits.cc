// Trains a small convolutional network to read handwritten digits, on any device acceld reaches.
//
// The life of this program:
//   1. it gets a ComputeBackend: a daemon's (Connect), or one over a device of its own
//      (LocalBackend). This file is the only one that knows the difference;
//   2. Trainer uploads the images and the first weights (trainer.h);
//   3. each epoch submits some 1,800 ops, then reads one result back (network.h has the ops);
//   4. the last epoch's accuracy decides how it exits.

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/compute_backend.h"
#include "backends/core/status.h"
#include "backends/cpu/cpu_device.h"
#include "backends/cpu/library_setup.h"
#include "backends/local/local_backend.h"
#include "client/command_line.h"
#include "client/connect.h"
#include "client/examples/digits.h"
#include "client/examples/trainer.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

// kHelp describes them.
ABSL_FLAG(std::string, endpoint, "", "");
ABSL_FLAG(bool, in_process, false, "");
ABSL_FLAG(int, epochs, 15, "");
ABSL_FLAG(bool, json, false, "");

namespace acceld::examples {
namespace {

constexpr char kHelp[] = R"(train_digits [flags]

Trains a small convolutional network on 1,437 images of handwritten digits and
measures it on 360 others, through a daemon or in this process; both give the same
losses, bit for bit. Prints a line per epoch on stderr.

  --endpoint=ENDPOINT  the daemon: unix:/path, host:port or [::1]:port. Without it, what
                       ACCELD_ENDPOINT says, else the user's daemon, else the system's
  --in-process         uses this machine's CPU directly, without a daemon
  --epochs=N           how often each image is trained on, 1 to 1000; 15 by default
  --json               prints the result as one JSON object on stdout:
                       {"accuracy": x, "losses": [per epoch], "images_per_second": x,
                       "backend": "cpu"}

Exits with 0 if at least 97 % of the held-out images are recognized in the end, with 2
for wrong flags, else with 1.
)";

constexpr double kRequiredAccuracy = 0.97;
constexpr int kEpochLimit = 1000;

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

struct Result {
  std::vector<double> losses;
  // Of the last epoch.
  double accuracy = 0;
  // Over all epochs.
  double images_per_second = 0;
  std::string backend;
};

absl::StatusOr<std::unique_ptr<ComputeBackend>> OpenBackend() {
  if (!absl::GetFlag(FLAGS_in_process)) {
    ConnectOptions options;
    options.client_name = "train_digits";
    return Connect(absl::GetFlag(FLAGS_endpoint), options);
  }
  auto backend = std::make_unique<LocalBackend>(MakeCpuDevice({}));
  ACCELD_RETURN_IF_ERROR(backend->Init());
  return backend;
}

absl::StatusOr<Result> Train(ComputeBackend& backend, int epochs) {
  ACCELD_ASSIGN_OR_RETURN(const Digits digits, LoadDigits());
  ACCELD_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(backend, digits));
  Result result;
  result.backend = backend.name();
  double seconds_per_image = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    ACCELD_ASSIGN_OR_RETURN(const EpochReport report, trainer.RunEpoch());
    fmt::print(stderr, "epoch {:2}  loss {:.6f}  held-out accuracy {:.2f} %  {:.0f} images/s\n",
               epoch, report.loss, 100 * report.accuracy, report.images_per_second);
    if (!std::isfinite(report.loss)) {
      return DeviceError(fmt::format("The loss of epoch {} is {}.", epoch, report.loss));
    }
    result.losses.push_back(report.loss);
    result.accuracy = report.accuracy;
    seconds_per_image += 1 / report.images_per_second / epochs;
  }
  result.images_per_second = 1 / seconds_per_image;
  return result;
}

// Numbers with 17 digits are read back to the same bits.
std::string ToJson(const Result& result) {
  return fmt::format(
      "{{\"accuracy\": {:.17g}, \"losses\": [{:.17g}], \"images_per_second\": {:.1f}, "
      "\"backend\": \"{}\"}}\n",
      result.accuracy, fmt::join(result.losses, ", "), result.images_per_second, result.backend);
}

int Fail(int exit_code, std::string_view message) {
  fmt::print(stderr, "train_digits: {}\n", message);
  return exit_code;
}

int Fail(int exit_code, const absl::Status& status) {
  return Fail(exit_code, std::string(status.message()));
}

int Run(const std::vector<std::string>& arguments) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments);
  if (!line.ok()) return Fail(kExitUsage, line.status());
  if (!line->words.empty()) {
    return Fail(kExitUsage, fmt::format("Argument \"{}\" is no flag; --help shows the flags.",
                                        line->words.front()));
  }
  if (line->help) {
    fmt::print("{}", kHelp);
    return kExitOk;
  }
  const int epochs = absl::GetFlag(FLAGS_epochs);
  if (epochs < 1 || epochs > kEpochLimit) {
    return Fail(kExitUsage,
                fmt::format("Flag --epochs is {}, outside 1 to {}.", epochs, kEpochLimit));
  }
  const bool names_daemon = !absl::GetFlag(FLAGS_endpoint).empty();
  if (names_daemon && absl::GetFlag(FLAGS_in_process)) {
    return Fail(kExitUsage, "Flags --endpoint and --in-process exclude each other.");
  }

  const absl::StatusOr<std::unique_ptr<ComputeBackend>> backend = OpenBackend();
  if (!backend.ok()) {
    const bool bad_flag = names_daemon && absl::IsInvalidArgument(backend.status());
    return Fail(bad_flag ? kExitUsage : kExitFailed, backend.status());
  }
  const absl::StatusOr<Result> result = Train(**backend, epochs);
  if (!result.ok()) return Fail(kExitFailed, result.status());

  if (absl::GetFlag(FLAGS_json)) fmt::print("{}", ToJson(*result));
  if (result->accuracy < kRequiredAccuracy) {
    return Fail(kExitFailed,
                fmt::format("The held-out accuracy is {:.2f} %, below the required {:.0f} %.",
                            100 * result->accuracy, 100 * kRequiredAccuracy));
  }
  return kExitOk;
}

}  // namespace
}  // namespace acceld::examples

int main(int argc, char** argv) {
  // So that training in this process gives the bits that it gives in the daemon.
  acceld::SetUpLibraries(/*cpu_threads=*/0, argv);
  return acceld::examples::Run({argv + 1, argv + argc});
}
