// SPDX-License-Identifier: Apache-2.0
/// \file Random operands for ladder and bench, in as many copies as keep them out of the caches.
#pragma once

#include <cstdint>

#include "exactile/plan.hpp"
#include "memory.hpp"
#include "verification/verification.hpp"

namespace exactile::program {

class Operands {
 public:
  /// Fails (trouble) where the memory is not there. A and B are filled, the same in every copy.
  Operands(const GemmDescription& description, verification::Fill fill, std::uint64_t seed, std::int64_t copies = 1);

  /// The operands of copy `index` modulo the number of copies.
  [[nodiscard]] GemmArguments arguments(std::int64_t index) const;
  /// The same within images of a(), b() and c() elsewhere.
  struct Offsets {
    std::int64_t a, b, c;
  };
  [[nodiscard]] Offsets offsets(std::int64_t index) const;
  [[nodiscard]] const Mapping& a() const { return a_; }
  [[nodiscard]] const Mapping& b() const { return b_; }
  [[nodiscard]] const Mapping& c() const { return c_; }
  /// NaN in every element of every C, -1 for integers: what a kernel leaves out is then seen.
  void poison_output();

  [[nodiscard]] std::int64_t copies() const { return copies_; }

 private:
  std::int64_t copies_;
  std::int64_t a_bytes_;
  std::int64_t b_bytes_;
  std::int64_t c_bytes_;
  Mapping a_;
  Mapping b_;
  Mapping c_;
};

/// Fails (trouble) where that many copies would not fit in the memory.
void require_operand_memory(const GemmDescription& description, std::int64_t copies = 1);

/// Bytes of one copy of A, B and C as describe() lays them out; fails (bad usage) where they do not fit in 64 bits.
[[nodiscard]] std::int64_t operand_bytes(const GemmDescription& description);

}  // namespace exactile::program
