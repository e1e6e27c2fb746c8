// Which processor OpenBLAS takes this one for.
#pragma once

#include <string_view>

namespace acceld {

// What OpenBLAS has recognized.
std::string_view OpenBlasCore();

// OpenBLAS takes a processor that is newer than it for one without AVX, on which products take up
// to eight times as long. Where it has `recognized` such a one and this processor has AVX2 or
// AVX-512, the name of a core with these; else nothing. It is for the environment variable
// OPENBLAS_CORETYPE, which the library reads when it is loaded.
std::string_view BetterOpenBlasCore(std::string_view recognized);

}  // namespace acceld
