// SPDX-License-Identifier: Apache-2.0
/// \file The border: what is thrown or answered on this side becomes a number and this thread's text on the other.
#pragma once

#include <exception>
#include <new>

#include "exactile.h"
#include "exactile/status.hpp"

namespace exactile::c_api {

/// Keeps the sentence for exactile_error_text() and answers the code.
exactile_status failure(StatusCode code, std::string_view message) noexcept;
exactile_status internal_failure(const char* what) noexcept;

/// That an argument is a null pointer, and what it should be.
[[nodiscard]] Status null(const char* name, const char* expected);

[[nodiscard]] inline exactile_status answer(const Status& status) noexcept {
  return status.ok() ? EXACTILE_OK : failure(status.code(), status.message());
}

/// What `body` answers, whatever it throws.
template <class Body>
[[nodiscard]] exactile_status guarded(const Body& body) noexcept {
  try {
    return answer(body());
  } catch (const std::bad_alloc&) {
    return failure(StatusCode::out_of_memory, "host memory is exhausted");
  } catch (const std::exception& e) {
    return internal_failure(e.what());
  }
}

}  // namespace exactile::c_api
