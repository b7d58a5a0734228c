// SPDX-License-Identifier: Apache-2.0
/// \file Bad arguments, answered as netlib's BLAS does: by a call of xerbla_ or cblas_xerbla, which programs replace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" {
void xerbla_(const char* routine, const std::int32_t* parameter, std::size_t length);
void cblas_xerbla(int parameter, const char* routine, const char* format, ...);
extern int RowMajorStrg;
extern int CBLAS_CallFromC;
}

namespace exactile::blas {

/// Parameter number `parameter` of the Fortran routine `name` (six letters, blanks behind) is not as it must be.
/// `rows`: -1 in a Fortran call; in a CBLAS call 1 for CblasRowMajor, else 0, and the routine's arguments are those of
/// the Fortran call that it stands for.
void report_parameter(const char* name, std::int32_t parameter, int rows);

/// Ends the process with the sentence on stderr: BLAS has no way to answer that a product cannot be done.
[[noreturn]] void stop(std::string_view message) noexcept;

/// The Fortran call, or the CBLAS call of which order, that a routine's arguments come from.
constexpr int from_fortran = -1;

}  // namespace exactile::blas
