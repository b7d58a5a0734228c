// SPDX-License-Identifier: Apache-2.0
/// \file
/// Describe once, plan once, run often. A plan has settled kernel, blocking and threads, so that run() only multiplies:
/// the way to go for many small products of one shape. Plan::explain() says what was chosen and why.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "exactile/exactile.hpp"

int main() {
  constexpr std::int64_t n = 64;
  const exactile::GemmDescription description{
      .types = {exactile::ElementType::f64, exactile::ElementType::f64},
      .m = n,
      .n = n,
      .k = n,
      .a = {.row_stride = n},
      .b = {.row_stride = n},
      .c = {.row_stride = n},
  };
  exactile::Result<exactile::Plan> made = exactile::Plan::make(description);
  if (!made.ok()) {
    std::cerr << made.status().message() << '\n';
    return 1;
  }
  const exactile::Plan& plan = made.value();

  // The powers of a rotation by one place: after n steps it is the identity again.
  std::vector<double> rotation(n * n, 0.0);
  std::vector<double> power(n * n, 0.0);
  std::vector<double> next(n * n);
  for (std::int64_t i = 0; i < n; ++i) {
    rotation[static_cast<std::size_t>(i * n + (i + 1) % n)] = 1;
    power[static_cast<std::size_t>(i * n + i)] = 1;
  }
  for (std::int64_t step = 0; step < n; ++step) {
    const exactile::Status status = plan.run({.a = power.data(), .b = rotation.data(), .c = next.data()});
    if (!status.ok()) {
      std::cerr << status.message() << '\n';
      return 1;
    }
    power.swap(next);
  }
  std::cout << "after " << n << " steps: " << power[0] << ' ' << power[1] << "\n\n" << plan.explain();
}
