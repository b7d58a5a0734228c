// SPDX-License-Identifier: Apache-2.0
/// \file
/// The smallest program that uses the library as a stranger would.
#include <array>
#include <cstdio>

#include "exactile/exactile.hpp"

int main() {
  const std::array<double, 4> a{1, 2, 3, 4};
  const std::array<double, 4> b{5, 6, 7, 8};
  std::array<double, 4> c{};
  const exactile::Status status = exactile::gemm(
      exactile::MatrixView(a.data(), 2, 2), exactile::MatrixView(b.data(), 2, 2), exactile::MatrixView(c.data(), 2, 2));
  if (!status.ok()) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(status.message().size()), status.message().data());
    return 1;
  }
  std::printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  return c == std::array<double, 4>{19, 22, 43, 50} ? 0 : 1;
}
