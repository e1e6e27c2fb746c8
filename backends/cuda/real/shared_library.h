// A library of CUDA that is opened when it is first needed, so that the plugin loads without it.
#pragma once

#include <dlfcn.h>

#include <string>

#include "backends/cuda/driver.h"

namespace acceld::cuda {

class SharedLibrary {
 public:
  // Opens `file`, such as "libcublas.so.13", where the system looks for libraries or, after that,
  // in the usual folder of the toolkit. Where it cannot be opened the status is kMissing and says
  // that `package`, such as "cuBLAS 13", is to be installed. It stays open for the process's life.
  DriverStatus Open(std::string file, std::string package);

  // Sets `function` to the one of this name. The status is kMissing where there is none.
  template <typename Function>
  DriverStatus Find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr ? DriverStatus{} : NoFunction(name);
  }

 private:
  DriverStatus NoFunction(const char* name) const;

  void* handle_ = nullptr;
  std::string file_;
  std::string package_;
};

}  // namespace acceld::cuda
