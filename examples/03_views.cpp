// SPDX-License-Identifier: Apache-2.0
/// \file
/// Views: transposes, blocks and broadcasts are strides, so nothing is copied. Here C's upper left block becomes
/// 2 * A^T * A + C, and every row of B is the same row.
#include <array>
#include <iostream>

#include "exactile/exactile.hpp"

namespace {

bool multiplied(const exactile::Status& status) {
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok();
}

}  // namespace

int main() {
  using exactile::MatrixView;
  const std::array<double, 6> elements{1, 2,  //
                                       3, 4,  //
                                       5, 6};
  const MatrixView<const double> a(elements.data(), 3, 2);

  std::array<double, 9> storage{};
  storage.fill(1);
  const MatrixView<double> c(storage.data(), 3, 3);
  if (!multiplied(exactile::gemm(a.transposed(), a, c.submatrix(0, 0, 2, 2), {.alpha = 2, .beta = 1}))) return 1;
  std::cout << "block: " << c(0, 0) << ' ' << c(0, 1) << ' ' << c(1, 0) << ' ' << c(1, 1) << ", beside it: " << c(2, 2)
            << '\n';

  const std::array<double, 2> row{10, 1};
  const MatrixView<const double> same_rows(row.data(), 2, 2, /*row_stride=*/0, /*column_stride=*/1);
  std::array<double, 6> product{};
  if (!multiplied(exactile::gemm(a, same_rows, MatrixView<double>(product.data(), 3, 2)))) return 1;
  std::cout << "broadcast: " << product[0] << ' ' << product[1] << ' ' << product[4] << ' ' << product[5] << '\n';
}
