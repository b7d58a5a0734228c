// SPDX-License-Identifier: Apache-2.0
/// \file
/// The matrices that are multiplied: random elements, in as many copies as it takes to leave the caches.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "comparison/contender.hpp"

namespace exactile::comparison {

/// How many sets of operands `product` is timed on. A vector-like product is bound by memory: timed on one set that
/// stays in a cache it would look faster than it is for anyone whose operands are fresh. `rotates` has as many sets for
/// every product. On OpenCL there is one set.
[[nodiscard]] std::int64_t set_count(const Product& product, const Context* context, bool rotates = false);
/// How many sets together exceed so many bytes.
[[nodiscard]] std::int64_t set_count(const Product& product, const Context* context, std::int64_t bytes);

class OperandSets {
 public:
  /// In the context's memory; in the host's where that is null. Every set has the same elements.
  OperandSets(const Product& product, std::int64_t count, const Context* context);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Strides strides() const { return strides_; }
  [[nodiscard]] Operands at(std::int64_t set) const { return advance(first_, strides_, set); }
  /// Fills C of set 0 with NaN (-1 for integers), so that an element nobody wrote is found.
  void poison();
  /// Set 0 in host memory, as it is now.
  [[nodiscard]] Operands fetch();
  [[nodiscard]] const Context* context() const { return context_; }

 private:
  struct Release {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<void, Release>;
  [[nodiscard]] static Memory allocate(std::int64_t bytes);
  [[nodiscard]] Memory sets_of(std::int64_t bytes) const;

  const Context* context_;
  std::int64_t count_;
  Strides strides_;
  Memory a_;
  Memory b_;
  Memory c_;
  std::vector<DeviceMemory> images_;  ///< of a_, b_ and c_ time and again, where there is a context
  Operands first_;
};

}  // namespace exactile::comparison
