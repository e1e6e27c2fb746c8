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
  const std::string reason = dlerror();
  handle_ = dlopen(fmt::format("{}{}", kToolkitLibraries, file_).c_str(), kMode);
  if (handle_ != nullptr) return {};
  return {.code = DriverCode::kMissing,
          .call = "dlopen",
          .detail = fmt::format("The library {} cannot be opened ({}); install {}, or name its "
                                "folder in LD_LIBRARY_PATH.",
                                file_, reason, package_)};
}

DriverStatus SharedLibrary::NoFunction(const char* name) const {
  return {.code = DriverCode::kMissing,
          .call = "dlsym",
          .detail = fmt::format("The library {} has no function {}; install a newer {}.", file_,
                                name, package_)};
}

}  // namespace acceld::cuda
