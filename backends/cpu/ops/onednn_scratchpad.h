// oneDNN's scratch memory for primitives that threads share.
#pragma once

#include <dnnl.hpp>

namespace acceld::cpu {

// Attributes of a primitive whose scratch memory is an argument. Otherwise it would belong to the
// thread that makes the primitive, and another could not run it.
dnnl::primitive_attr WithScratchpadArgument();

// The calling thread's, kept until it ends: at least as large as `layout`, a primitive's
// scratchpad_desc, and free for each primitive that it runs.
void* ThreadScratchpad(const dnnl::memory::desc& layout);

}  // namespace acceld::cpu
