// SPDX-License-Identifier: Apache-2.0
/// \file What Python callers write, as the library takes it. Each raises a Python exception whose sentence names the
/// argument.
#pragma once

#include <atomic>

#include "view.hpp"

namespace exactile::python {

/// The limit that holds where a call names none; 0: the library's own.
inline std::atomic<int> thread_limit{0};

/// Of a str, as long as it lives.
[[nodiscard]] std::string_view text_of(nb::handle text, const char* name);
[[nodiscard]] bool flag_of(nb::handle flag, const char* name);
[[nodiscard]] Accuracy accuracy_of(nb::handle name);
[[nodiscard]] Backend backend_of(nb::handle name);
[[nodiscard]] Activation activation_of(nb::handle name);
[[nodiscard]] int threads_of(nb::handle threads, const char* name = "threads");
/// A number as alpha and beta of products of `input`.
[[nodiscard]] Scalar scalar_of(nb::handle number, ElementType input, const char* name);

}  // namespace exactile::python
