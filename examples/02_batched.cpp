// SPDX-License-Identifier: Apache-2.0
/// \file
/// A batch: four pictures' pixels (rows of red, green, blue) times one colour matrix. The matrix is broadcast by a
/// batch stride of 0; it is never copied. An epilogue adds a bias to each column and cuts off what is below zero.
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "exactile/exactile.hpp"

int main() {
  constexpr std::int64_t pictures = 4;
  constexpr std::int64_t pixels = 3;
  std::vector<float> colours(pictures * pixels * 3);
  for (std::size_t i = 0; i < colours.size(); ++i) colours[i] = static_cast<float>(i);
  const std::array<float, 9> swap_red_and_blue{0, 0, 1,  //
                                               0, 1, 0,  //
                                               1, 0, 0};
  const std::array<float, 3> darker{-10, -10, -10};
  std::vector<float> result(colours.size());

  const exactile::BatchView<const float> a{
      .first = {colours.data(), pixels, 3}, .count = pictures, .stride = pixels * 3};
  const exactile::BatchView<const float> b{.first = {swap_red_and_blue.data(), 3, 3}, .count = pictures, .stride = 0};
  const exactile::BatchView<float> c{.first = {result.data(), pixels, 3}, .count = pictures, .stride = pixels * 3};
  const exactile::Status status =
      exactile::gemm(a, b, c, {.column_bias = darker.data(), .activation = exactile::Activation::relu});
  if (!status.ok()) {
    std::cerr << status.message() << '\n';
    return 1;
  }
  for (std::int64_t picture = 0; picture < pictures; ++picture) {
    const exactile::MatrixView first_pixel = exactile::MatrixView(result.data() + picture * pixels * 3, 1, 3);
    std::cout << "picture " << picture << ": " << first_pixel(0, 0) << ' ' << first_pixel(0, 1) << ' '
              << first_pixel(0, 2) << '\n';
  }
}
