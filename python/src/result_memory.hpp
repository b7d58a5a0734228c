// SPDX-License-Identifier: Apache-2.0
/// \file Memory for large results in NumPy's arrays. The C library asks the system for each large block anew and gives
/// it back when it is dropped: the pages of the next one are then found, cleared and mapped in the middle of a product.
/// Here the last block that was dropped is kept for the next result of its size. The system may take its pages when it
/// needs memory (MADV_FREE).
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace exactile::python {

/// A handler of NumPy's (NEP 49) for an array of so many bytes, or null where NumPy's own is as good. Lives as long as
/// the process.
[[nodiscard]] PyObject* result_memory_for(std::size_t bytes);

}  // namespace exactile::python
