// SPDX-License-Identifier: Apache-2.0
/// \file The BLAS that does what this one leaves to others.
#pragma once

namespace exactile::blas {

/// The fallback's routine of that name. The fallback is opened with the first question, and stays: what
/// EXACTILE_BLAS_FALLBACK names by an absolute path, else a BLAS that the program loads behind this one, else the next
/// provider on the system. Where there is none the process ends with a sentence on stderr that says which name was
/// wanted and where was looked: BLAS has no way to answer with an error.
[[nodiscard]] void* need_fallback(const char* name) noexcept;

}  // namespace exactile::blas
