// What a program has to set up for OpenMP and OpenBLAS, which read their settings when they are
// loaded, before main.
#pragma once

namespace acceld {

// To be called first in main, by a program whose CPU device has `cpu_threads` threads
// (CpuOptions::threads). Chooses, in the environment and where that does not say otherwise, how
// long OpenMP's threads wait for work and which cores they run on, and OpenBLAS's kernels where the
// library does not know this processor (openblas_core.h); starts the program anew, with the
// arguments `argv`, where it has chosen anything. Where that fails, the device is only slower.
void SetUpLibraries(int cpu_threads, char** argv);

}  // namespace acceld
