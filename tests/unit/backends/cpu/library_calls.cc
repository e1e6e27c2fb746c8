#include "tests/unit/backends/cpu/library_calls.h"

#include <dlfcn.h>
#include <dnnl.h>
#include <omp.h>

#include <atomic>

namespace acceld {
namespace {

std::atomic<int> region_count = 0;
std::atomic<int> onednn_count = 0;

// The library's own function, which the one of that name below stands before.
template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

LibraryCalls::LibraryCalls() {
  region_count = 0;
  onednn_count = 0;
}

int LibraryCalls::regions() const { return region_count; }
int LibraryCalls::onednn() const { return onednn_count; }

}  // namespace acceld

// What GCC makes of "omp parallel"; with 0 `threads` there are as many as there may be.
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static auto* const next = acceld::Next<decltype(GOMP_parallel)>("GOMP_parallel");
  if (threads > 1 || (threads == 0 && omp_get_max_threads() > 1)) ++acceld::region_count;
  next(body, data, threads, flags);
}

extern "C" dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n,
                                    dnnl_dim_t k, float alpha, const float* a, dnnl_dim_t lda,
                                    const float* b, dnnl_dim_t ldb, float beta, float* c,
                                    dnnl_dim_t ldc) {
  static auto* const next = acceld::Next<decltype(dnnl_sgemm)>("dnnl_sgemm");
  ++acceld::onednn_count;
  return next(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

extern "C" dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
                                                dnnl_stream_t stream, int count,
                                                const dnnl_exec_arg_t* arguments) {
  static auto* const next =
      acceld::Next<decltype(dnnl_primitive_execute)>("dnnl_primitive_execute");
  ++acceld::onednn_count;
  return next(primitive, stream, count, arguments);
}
