// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands for tests that call the library themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exactile/exactile.hpp"
#include "verification/verification.hpp"

namespace exactile::test {

/// Contiguous row-major A, B and C of one description, A and B filled, C zero.
class Matrices {
 public:
  Matrices(const GemmDescription& description, std::uint64_t seed,
           verification::Fill fill = verification::Fill::normal);

  [[nodiscard]] GemmArguments arguments() { return {.a = a_.data(), .b = b_.data(), .c = c_.data()}; }
  [[nodiscard]] const std::vector<std::byte>& c() const { return c_; }
  void clear_c();
  /// The bytes of rows [first, last) of C.
  [[nodiscard]] std::vector<std::byte> c_rows(std::int64_t first, std::int64_t last) const;

 private:
  GemmDescription description_;
  std::vector<std::byte> a_, b_, c_;
};

/// Contiguous row-major layouts for m, n, k and a batch.
[[nodiscard]] GemmDescription contiguous(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t batch_count = 1);

/// A mapping nobody may touch, for arguments that must not be read.
class ForbiddenMemory {
 public:
  explicit ForbiddenMemory(std::size_t bytes);
  ForbiddenMemory(const ForbiddenMemory&) = delete;
  ForbiddenMemory& operator=(const ForbiddenMemory&) = delete;
  ~ForbiddenMemory();
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

/// Address space without memory: pages appear when they are touched. data() is null where the system refuses.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes);
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  ~SparseMemory();
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace exactile::test
