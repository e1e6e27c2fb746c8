#include "tests/unit/backends/ops/heap_allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t heap_allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++heap_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace acceld {

std::size_t HeapAllocations() { return heap_allocations; }

}  // namespace acceld
