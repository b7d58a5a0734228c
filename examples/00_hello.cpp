// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two matrices, one product. Views say where the elements are; gemm() answers with a Status.
#include <iostream>
#include <vector>

#include "exactile/exactile.hpp"

int main() {
  const std::vector<float> a{1, 2, 3,  //
                             4, 5, 6};
  const std::vector<float> b{1, 0,  //
                             0, 1,  //
                             2, 2};
  std::vector<float> c(4);

  const exactile::MatrixView c_view(c.data(), 2, 2);
  const exactile::Status status =
      exactile::gemm(exactile::MatrixView(a.data(), 2, 3), exactile::MatrixView(b.data(), 3, 2), c_view);
  if (!status.ok()) {
    std::cerr << status.message() << '\n';
    return 1;
  }
  std::cout << "c(1, 0) = " << c_view(1, 0) << '\n';  // 4*1 + 5*0 + 6*2
}
