// acceld with a cuda card besides the CPU, to test what becomes of a card that is lost: the card
// computes as the CPU does, and is lost when a softmax runs on it. Where ACCELD_TEST_CARD_FAILS is
// in the environment the card cannot be initialized, for that reason.

#include <cstdlib>
#include <memory>

#include "backends/core/status.h"
#include "backends/cpu/cpu_device.h"
#include "backends/registry/builtin.h"
#include "server/config/flags.h"
#include "server/daemon.h"
#include "server/logging/logging.h"
#include "server/version.h"
#include "tests/testing/faulty_device.h"

namespace acceld {
namespace {

class Card final : public FaultyDevice {
 public:
  Card() : FaultyDevice(MakeCpuDevice({.threads = 1})) {
    LoseOn("softmax", DeviceError("The device was lost while softmax ran: so the test wants it.",
                                  reason::kDeviceLost));
    if (const char* why = std::getenv("ACCELD_TEST_CARD_FAILS")) {
      FailInit(DeviceError(why, reason::kDeviceLost));
    }
  }

  static DeviceInfo Info() { return {.kind = BackendKind::kCuda, .name = "test card"}; }
  const DeviceInfo& info() const override { return info_; }

 private:
  const DeviceInfo info_ = Info();
};

}  // namespace
}  // namespace acceld

int main(int argc, char** argv) {
  const acceld::Config config = acceld::ParseCommandLineOrExit(argc, argv, acceld::kVersion);
  acceld::SetUpLogging(config.log_level, config.log_format);
  acceld::BlockDaemonSignals();
  acceld::Registry registry = acceld::BuiltinRegistry({.threads = 1});
  registry.Register({.kind = acceld::BackendKind::kCuda,
                     .available = true,
                     .devices = {acceld::Card::Info()},
                     .factory = [](int) -> absl::StatusOr<std::unique_ptr<acceld::Device>> {
                       return std::make_unique<acceld::Card>();
                     }});
  return acceld::RunDaemon(config, std::move(registry)).ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
