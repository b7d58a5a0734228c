// SPDX-License-Identifier: Apache-2.0
/// \file
/// Weights that meet many inputs: prepared once, used by plans for any number of rows. Some kernels bring an operand
/// into a form of their own before they multiply (f32 on Hopper's tensor cores splits it into slices); prepared, that
/// is done once. Kernels that read it as it is, as the CPU's do, take it too.
#include <cstdint>
#include <iostream>
#include <vector>

#include "exactile/exactile.hpp"

namespace {

constexpr std::int64_t inputs = 4;
constexpr std::int64_t outputs = 2;

/// x W for that many rows of x. With operands in the memory of a GPU: .backend = exactile::Backend::cuda, .memory =
/// Memory::device.
exactile::Result<exactile::Plan> layer(std::int64_t rows) {
  return exactile::Plan::make({.types = {exactile::ElementType::f32, exactile::ElementType::f32},
                               .m = rows,
                               .n = outputs,
                               .k = inputs,
                               .a = {.row_stride = inputs},
                               .b = {.row_stride = outputs},
                               .c = {.row_stride = outputs}},
                              {.kernel = "cpu_naive"});
}

}  // namespace

int main() {
  const std::vector<float> weights{1, 0,  //
                                   0, 1,  //
                                   1, 0,  //
                                   0, 1};
  const exactile::Result<exactile::Plan> one = layer(1);
  const exactile::Result<exactile::Plan> three = layer(3);
  if (!one.ok() || !three.ok()) return 1;

  // The weights stay where they are, and as they are, as long as this is used.
  const exactile::Result<exactile::PreparedOperand> prepared =
      one.value().prepare(exactile::Operand::b, weights.data());
  if (!prepared.ok()) {
    std::cerr << prepared.status().message() << '\n';
    return 1;
  }

  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<float> y(3 * outputs);
  for (const exactile::Plan& plan : {one.value(), three.value()}) {
    const exactile::Status status = plan.run({.a = x.data(), .c = y.data(), .prepared_b = &prepared.value()});
    if (!status.ok()) {
      std::cerr << status.message() << '\n';
      return 1;
    }
    std::cout << "last row of " << plan.description().m << ": ";
    const auto last = static_cast<std::size_t>((plan.description().m - 1) * outputs);
    std::cout << y[last] << ' ' << y[last + 1] << '\n';
  }
}
