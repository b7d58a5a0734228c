// SPDX-License-Identifier: Apache-2.0
/// \file The names of one routine: with 32-bit and with 64-bit integers, in each spelling that programs import.
#pragma once

#define EXACTILE_EXPORT __attribute__((visibility("default")))

/// `name` is `target`, which is defined in the same file, once more.
#define EXACTILE_ALIAS(name, target) extern "C" EXACTILE_EXPORT decltype(target) name __attribute__((alias(#target)))

// dgemm_ and dgemm_64_ are the reference's names; scipy_... those of the library inside the wheels of NumPy and SciPy,
// of which NumPy's has 64-bit integers and SciPy's has 32-bit ones.
#define EXACTILE_FORTRAN_ALIASES(stem)      \
  EXACTILE_ALIAS(scipy_##stem##_, stem##_); \
  EXACTILE_ALIAS(stem##64_, stem##_64_);    \
  EXACTILE_ALIAS(scipy_##stem##_64_, stem##_64_)

#define EXACTILE_CBLAS_ALIASES(stem)                    \
  EXACTILE_ALIAS(scipy_cblas_##stem, cblas_##stem);     \
  EXACTILE_ALIAS(cblas_##stem##64_, cblas_##stem##_64); \
  EXACTILE_ALIAS(scipy_cblas_##stem##64_, cblas_##stem##_64)
