// Counts what a test takes from the heap.
#pragma once

#include <cstddef>

namespace acceld {

// How often the calling thread has called operator new.
std::size_t HeapAllocations();

}  // namespace acceld
