// The one engine that oneDNN's objects here belong to.
#pragma once

#include <dnnl.hpp>

namespace acceld::cpu {

inline const dnnl::engine& Engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

}  // namespace acceld::cpu
