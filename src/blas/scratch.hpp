// SPDX-License-Identifier: Apache-2.0
/// \file Memory in which a thread's routines keep a block for a while.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "blas/errors.hpp"
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

/// Elements of the call's own, of any content, which no routine within it touches. Ends the program where there is no
/// memory, as BLAS's routines have no way to say so.
template <class T>
[[nodiscard]] std::unique_ptr<T[]> allocated(Size count) {
  auto* memory = count < 0 ? nullptr : new (std::nothrow) T[static_cast<std::size_t>(count)];
  if (memory == nullptr) stop("out of memory for a copy of operands");
  return std::unique_ptr<T[]>(memory);
}

}  // namespace exactile::blas
