// Marks for code that runs on the GPU and, compiled by any C++ compiler, on the host.
#pragma once

#if defined(__CUDACC__)
#define ACCELD_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define ACCELD_HOST_DEVICE inline
#endif

// Before a loop over what is to be in registers.
#if defined(__CUDA_ARCH__)
#define ACCELD_UNROLL _Pragma("unroll")
#else
#define ACCELD_UNROLL
#endif
