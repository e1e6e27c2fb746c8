#include "backends/cuda/real/shared_library.h"

#include <utility>

#include "fmt/format.h"

namespace acceld::cuda {
namespace {

constexpr const char* kToolkitLibraries = "/usr/local/cuda/lib64/";

}  // namespace

DriverStatus SharedLibrary::Open(std::string file, std::string package) {
  file_ = std::move(file);
  package_ = std::move(package);
  constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  handle_ = dlopen(file_.c_str(), kMode);
  if (handle_ != nullptr) return {};
  const std::string by_name = dlerror();
  const std::string path = kToolkitLibraries + file_;
  handle_ = dlopen(path.c_str(), kMode);
  if (handle_ != nullptr) return {};
  const std::string by_path = dlerror();
  return {.code = DriverCode::kMissing,
          .call = "dlopen",
          .detail = fmt::format("The library {0} cannot be opened, neither where the system looks "
                                "for libraries ({2}) nor as {1} ({3}); install {4}, or name its "
                                "folder in LD_LIBRARY_PATH.",
                                file_, path, by_name, by_path, package_)};
}

DriverStatus SharedLibrary::NoFunction(const char* name) const {
  return {.code = DriverCode::kMissing,
          .call = "dlsym",
          .detail = fmt::format("The library {} has no function {}; install a newer {}.", file_,
                                name, package_)};
}

}  // namespace acceld::cuda
