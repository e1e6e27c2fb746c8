#include "backends/cpu/ops/onednn_scratchpad.h"

#include "backends/cpu/ops/onednn_engine.h"

namespace acceld::cpu {

dnnl::primitive_attr WithScratchpadArgument() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void* ThreadScratchpad(const dnnl::memory::desc& layout) {
  thread_local dnnl::memory scratchpad;
  if (!scratchpad || scratchpad.get_desc().get_size() < layout.get_size()) {
    scratchpad = dnnl::memory(layout, Engine());
  }
  return scratchpad.get_data_handle();
}

}  // namespace acceld::cpu
