// SPDX-License-Identifier: Apache-2.0
// What a program that knows nothing of exactile loads: see unload.cpp.
#include <vector>

#include "exactile/gemm.hpp"

/// Whether a product of ones is right.
extern "C" [[gnu::visibility("default")]] bool multiply_ones(int threads) {
  using exactile::MatrixView;
  constexpr int size = 300;
  const std::vector<float> ones(size * size, 1.0F);
  std::vector<float> c(size * size);
  const MatrixView<const float> a(ones.data(), size, size);
  const exactile::Status status =
      exactile::gemm(a, a, MatrixView<float>(c.data(), size, size), {.options = {.threads = threads}});
  return status.ok() && c.front() == size && c.back() == size;
}
