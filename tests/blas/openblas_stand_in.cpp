// SPDX-License-Identifier: Apache-2.0
// What looks like an OpenBLAS; its routines are those of the BLAS that it is linked to.
extern "C" __attribute__((visibility("default"))) const char* openblas_get_config() { return "a stand-in"; }
