// SPDX-License-Identifier: Apache-2.0
/// \file The BLAS that does what this one leaves to others.
#pragma once

namespace exactile::blas {

/// The fallback's routine of that name; null where there is no fallback or it has none. The fallback is opened with the
/// first question, and stays: what EXACTILE_BLAS_FALLBACK names by an absolute path, else a BLAS that the program loads
/// behind this one, else the next provider on the system.
[[nodiscard]] void* find_fallback(const char* name) noexcept;

/// The same, but where there is none the process ends with a sentence on stderr that says which name was wanted and
/// where was looked: BLAS has no way to answer with an error.
[[nodiscard]] void* need_fallback(const char* name) noexcept;

template <class Function>
[[nodiscard]] Function* fallback_routine(const char* name) noexcept {
  return reinterpret_cast<Function*>(need_fallback(name));
}

}  // namespace exactile::blas
