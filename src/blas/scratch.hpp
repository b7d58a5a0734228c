// SPDX-License-Identifier: Apache-2.0
/// \file Memory in which a thread's routines keep a block for a while.
#pragma once

#include <cstddef>

#include "blas/product.hpp"

namespace exactile::blas {

/// `bytes` at a multiple of 64, of any content; this thread's until its next call.
[[nodiscard]] void* thread_scratch(std::size_t bytes);

/// `count` elements. Memory that is wanted again and again is kept: to the system it costs more than the block it
/// holds.
template <class T>
[[nodiscard]] T* scratch(Size count) {
  return static_cast<T*>(thread_scratch(static_cast<std::size_t>(count) * sizeof(T)));
}

}  // namespace exactile::blas
