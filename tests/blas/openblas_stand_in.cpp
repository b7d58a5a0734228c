// SPDX-License-Identifier: Apache-2.0
// What looks like an OpenBLAS; its routines are those of the BLAS that it is linked to.
#include <cstdlib>

#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT const char* openblas_get_config() { return "a stand-in"; }
EXPORT const char* openblas_get_corename() {
  const char* core = std::getenv("STAND_IN_CORE");
  return core == nullptr ? "Haswell" : core;
}
