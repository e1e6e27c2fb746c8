// The cuda device on a card that is not there, as a plugin, for tests of whole daemons: its host
// logic and its kernels are the real ones. What is wrong with the card is in the environment:
//
//   ACCELD_FAKE_CARD_FAILS=WHY     it is not to be had, for this reason
//   ACCELD_FAKE_CARD_LOST_BY=softmax  it is lost when a softmax runs on it
//   ACCELD_FAKE_CARD_LACKS=cublas,cudnn  these libraries are not installed
//
// Misuse of the driver ends the daemon.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/real/shared_library.h"
#include "backends/plugin/plugin.h"
#include "tests/testing/cuda/fake_cuda_driver.h"

namespace acceld {
namespace {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// What is said of a library whose file is not there.
cuda::DriverStatus NotInstalled(const std::string& file, const std::string& package) {
  return cuda::SharedLibrary().Open(file, package);
}

FakeCudaOptions Options() {
  FakeCudaOptions options{.clients_race = true, .on_misuse = [](const std::string& what) {
                            std::fprintf(stderr, "%s\n", what.c_str());
                            std::abort();
                          }};
  if (Environment("ACCELD_FAKE_CARD_LOST_BY") == "softmax") {
    options.loses = [](const cuda::Kernel& kernel) {
      return std::holds_alternative<cuda::SoftmaxKernel>(kernel);
    };
  }
  const std::string lacks = Environment("ACCELD_FAKE_CARD_LACKS");
  if (lacks.find("cublas") != std::string::npos) {
    options.no_cublas = NotInstalled("libcublas.so.0", "cuBLAS 0");
  }
  if (lacks.find("cudnn") != std::string::npos) {
    options.no_cudnn = NotInstalled("libcudnn.so.0", "cuDNN 0");
  }
  return options;
}

cuda::CudaOptions OptionsFor(const PluginOptions& options) {
  return {.memory_limit_bytes = options.memory_limit_bytes};
}

absl::StatusOr<std::vector<DeviceInfo>> FindCards(const PluginOptions& options) {
  return std::vector{cuda::Limited(FakeCudaDriver(Options()).info(), OptionsFor(options))};
}

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(int, const PluginOptions& options) {
  auto card = std::make_unique<FakeCudaDriver>(Options());
  if (const std::string why = Environment("ACCELD_FAKE_CARD_FAILS"); !why.empty()) {
    card->FailCall("Init", 1,
                   {.code = cuda::DriverCode::kDeviceLost, .call = "cudaSetDevice", .detail = why});
  }
  return cuda::MakeCudaDevice(std::move(card), OptionsFor(options));
}

const Plugin kPlugin{.kind = BackendKind::kCuda, .probe = &FindCards, .make_device = &MakeDevice};

}  // namespace
}  // namespace acceld

const acceld::Plugin* acceld_plugin() { return &acceld::kPlugin; }
