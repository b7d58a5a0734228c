// SPDX-License-Identifier: Apache-2.0
/// \file
/// The matrices that are multiplied: random normal elements, in as many copies as it takes to leave the caches.
#pragma once

#include <cstdlib>
#include <memory>

#include "rivals/contender.hpp"

namespace exactile::bench {

/// How many sets of operands `product` is timed on. A vector-like product is bound by memory: timed on one set that
/// stays in a cache it would look faster than it is for anyone whose operands are fresh.
[[nodiscard]] std::int64_t set_count(const Product& product);

class OperandSets {
 public:
  OperandSets(const Product& product, std::int64_t count);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Strides strides() const { return strides_; }
  [[nodiscard]] Operands at(std::int64_t set) const { return advance(first_, strides_, set); }
  /// Fills C of set 0 with NaN, so that an element nobody wrote is found.
  void poison() const;

 private:
  struct Release {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<void, Release>;
  [[nodiscard]] static Memory allocate(std::int64_t bytes);

  Product product_;
  std::int64_t count_;
  Strides strides_;
  Memory a_;
  Memory b_;
  Memory c_;
  Operands first_;
};

}  // namespace exactile::bench
