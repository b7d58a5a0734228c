// SPDX-License-Identifier: Apache-2.0
/// \file The BLAS that does what this one leaves to others.
#pragma once

namespace exactile::blas {

/// The fallback's routine of that name. The fallback is opened with the first question, and stays: what
/// EXACTILE_BLAS_FALLBACK names by an absolute path, else a BLAS that the program loads behind this one, else the next
/// provider on the system. Where there is none the process ends with a sentence on stderr that says which name was
/// wanted and where was looked: BLAS has no way to answer with an error.
[[nodiscard]] void* need_fallback(const char* name) noexcept;

/// The fallback's routine where the fallback is an OpenBLAS; else null. A missing fallback is no error here.
[[nodiscard]] void* openblas_routine(const char* name) noexcept;

/// Where the fallback was found. Only after it was opened.
[[nodiscard]] const char* fallback_name() noexcept;

/// Threads that an OpenBLAS behind this library may use from now on, also where it is opened later.
void set_fallback_threads(int count) noexcept;

}  // namespace exactile::blas
