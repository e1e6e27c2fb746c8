// Compiles a hot loop for several generations of x86-64; the one that fits the processor is chosen
// when the program loads. The build itself is for plain x86-64.
#pragma once

// The resolvers run before the sanitizers' runtimes are ready.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ACCELD_VERSIONS 1
#define ACCELD_MULTIVERSION \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
// One version, for loops with instructions of it. Where ACCELD_RUNS_V3 or ACCELD_RUNS_V4 is true
// the processor has them.
#define ACCELD_V3 __attribute__((target("arch=x86-64-v3")))
#define ACCELD_V4 __attribute__((target("arch=x86-64-v4")))
#define ACCELD_RUNS_V3 __builtin_cpu_supports("x86-64-v3")
#define ACCELD_RUNS_V4 __builtin_cpu_supports("x86-64-v4")
#define ACCELD_RUNS_ON_AMD __builtin_cpu_is("amd")
#else
#define ACCELD_VERSIONS 0
#define ACCELD_MULTIVERSION
#define ACCELD_RUNS_ON_AMD false
#endif

// A function that is compiled for the version of the loop it stands in.
#define ACCELD_INLINE __attribute__((always_inline)) inline
// The same for a lambda, behind its parameters.
#define ACCELD_INLINE_LAMBDA __attribute__((always_inline))

// Before a loop over elements whose output may be exactly one of its inputs: no element depends on
// another one, so the loop may be vectorized without a check for overlap.
#if defined(__GNUC__) && !defined(__clang__)
#define ACCELD_INDEPENDENT_ELEMENTS _Pragma("GCC ivdep")
#else
#define ACCELD_INDEPENDENT_ELEMENTS
#endif
