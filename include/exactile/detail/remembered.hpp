// SPDX-License-Identifier: Apache-2.0
/// \file
/// For the library's own headers and bindings: how a call finds the plan of an earlier one without a description.
#pragma once

#include <cstdint>

#include "exactile/plan.hpp"

namespace exactile::detail {

/// A single product in host memory with alpha and beta and nothing else to it. Sizes and strides as in GemmDescription.
struct PlainProduct {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t a_row;
  std::int64_t a_column;
  std::int64_t b_row;
  std::int64_t b_column;
  std::int64_t c_row;
  std::int64_t c_column;
  std::uint64_t form;  ///< see plain_form(); 0 is no plain product's
  friend bool operator==(const PlainProduct&, const PlainProduct&) = default;
};

/// The rest of what such a product is told by, as one number.
[[nodiscard]] constexpr std::uint64_t plain_form(GemmTypes types, bool conjugate_a, bool conjugate_b, Backend backend,
                                                 int threads) noexcept {
  return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(types.input_b) << 56 |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(threads)) << 24 |
         static_cast<std::uint64_t>(backend) << 16 | static_cast<std::uint64_t>(types.input) << 8 |
         static_cast<std::uint64_t>(types.output) << 2 | (conjugate_a ? 2U : 0U) | (conjugate_b ? 1U : 0U);
}

/// Options that say nothing but backend and threads.
[[nodiscard]] inline bool is_plain(const GemmOptions& options) noexcept {
  GemmOptions plain;
  plain.backend = options.backend;
  plain.threads = options.threads;
  return options == plain;
}

/// The plan by which this thread did the same product before; null where there is none. Valid until the thread makes
/// another one-shot call.
[[nodiscard]] const PlanState* find_plan(const PlainProduct& product) noexcept;

/// The same of any product in a one-shot call.
[[nodiscard]] const PlanState* remembered_plan(const GemmDescription& description, const GemmOptions& options) noexcept;

/// The kernel's name; "" where there is nothing to multiply.
[[nodiscard]] std::string_view kernel_of(const PlanState& plan) noexcept;

}  // namespace exactile::detail
