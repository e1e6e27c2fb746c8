// Compiles a hot loop for several generations of x86-64; the one that fits the processor is chosen
// when the program loads. The build itself is for plain x86-64.
#pragma once

// The resolvers run before the sanitizers' runtimes are ready.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ACCELD_MULTIVERSION \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define ACCELD_MULTIVERSION
#endif

// A function that is compiled for the version of the loop it stands in.
#define ACCELD_INLINE __attribute__((always_inline)) inline

// Before a loop over elements whose output may be exactly one of its inputs: no element depends on
// another one, so the loop may be vectorized without a check for overlap.
#if defined(__GNUC__) && !defined(__clang__)
#define ACCELD_INDEPENDENT_ELEMENTS _Pragma("GCC ivdep")
#else
#define ACCELD_INDEPENDENT_ELEMENTS
#endif
