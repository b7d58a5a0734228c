// SPDX-License-Identifier: Apache-2.0
/// \file A C that is narrower than the sums it takes: each is rounded once, after all that follows it.
#pragma once

#include <memory>

#include "cpu/loops/partition.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

class RoundedC {
 public:
  virtual ~RoundedC() = default;
  /// C <- activation(alpha * sums, with the scales of rows and columns, + beta * C + bias) for a part of product number
  /// `product`, as the loops see it: rows of `sums` lie `stride` apart. Overwrites the sums.
  virtual void store(const GemmArguments& arguments, std::int64_t product, Range rows, Range columns, float* sums,
                     std::int64_t stride) const = 0;
};

/// For the description's own C, bias, activation and scales; `exchanged`: the loops compute C^T.
[[nodiscard]] std::unique_ptr<RoundedC> make_rounded_c(const GemmDescription& description, bool exchanged);

}  // namespace exactile::cpu
