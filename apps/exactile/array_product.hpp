// SPDX-License-Identifier: Apache-2.0
/// \file The calls of the library that make one product of two arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "exactile/plan.hpp"
#include "product_shape.hpp"

namespace exactile::program {

/// A batch goes to the library as it lies: by one stride where its broadcast dimensions have one, else by pointers.
/// Pointers are made for a bounded number of products at a time, so that they take little memory.
class ArrayProduct {
 public:
  ArrayProduct(ProductShape shape, GemmTypes types, const std::byte* a, const std::byte* b);

  [[nodiscard]] const ProductShape& shape() const { return shape_; }
  /// The description of the first call; the others differ in their batch count at most.
  [[nodiscard]] GemmDescription description() const;

  /// Calls `run` with each call's description, its operands (C at its place within `c`), and the number of elements of
  /// C before that place.
  using Run = std::function<void(const GemmDescription&, const GemmArguments&, std::int64_t)>;
  void for_each_call(std::byte* c, const Run& run) const;

 private:
  [[nodiscard]] GemmDescription description_of(std::int64_t products) const;

  ProductShape shape_;
  GemmTypes types_;
  const std::byte* a_;
  const std::byte* b_;
  std::int64_t products_per_call_ = 1;
  OperandLayout a_layout_;
  OperandLayout b_layout_;
};

}  // namespace exactile::program
