// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the library allocates for itself is small; without even that a call can only say so.
#pragma once

#include <new>

#include "exactile/status.hpp"

namespace exactile::api {

/// What `body` answers, a Status or a Result; where it finds no memory, that.
template <class Body>
[[nodiscard]] auto guarded(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, "host memory is exhausted");
  }
}

}  // namespace exactile::api
