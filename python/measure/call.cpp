// SPDX-License-Identifier: Apache-2.0
// The C++ call that the package's are compared with, timed where no Python runs. measure.py compiles it and calls it
// through ctypes.
#include <chrono>
#include <cstdint>

#include "exactile/exactile.hpp"

/// Seconds of `calls` products of row-major matrices, one behind the other; device -1: host memory. Below 0 it failed.
extern "C" double seconds_of_calls(int input, int output, std::int64_t m, std::int64_t n, std::int64_t k, const void* a,
                                   const void* b, void* c, int device, void* queue, int threads, int calls) {
  const exactile::GemmDescription description{
      .types = {static_cast<exactile::ElementType>(input), static_cast<exactile::ElementType>(output)},
      .m = m,
      .n = n,
      .k = k,
      .a = {.row_stride = k},
      .b = {.row_stride = n},
      .c = {.row_stride = n}};
  exactile::GemmOptions options{.threads = threads};
  if (device >= 0) {
    options.backend = exactile::Backend::cuda;
    options.memory = exactile::Memory::device;
    options.device = device;
  }
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    if (!exactile::gemm(description, {.a = a, .b = b, .c = c}, options, {.queue = queue}).ok()) return -1;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
