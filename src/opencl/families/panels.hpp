// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands in panels (kernels/pack.cl) and the product of panels (kernels/packed.cl), enqueued.
#pragma once

#include "opencl/families/call.hpp"
#include "opencl/families/packed_parameters.hpp"

namespace exactile::opencl {

/// One side of the product as lines of k terms: rows of A, columns of B.
struct Side {
  std::int64_t lines;
  std::int64_t panel;    ///< lines of a panel
  OperandLayout layout;  ///< row_stride from line to line, column_stride from term to term
  std::string how = {};  ///< further options for pack.cl

  [[nodiscard]] std::int64_t padded_lines() const;
  [[nodiscard]] std::int64_t elements(std::int64_t k_padded) const { return padded_lines() * k_padded; }
  /// One matrix for the whole batch is packed once.
  [[nodiscard]] bool is_shared() const { return layout.batch_stride == 0; }
  /// From product to product, in elements of panels.
  [[nodiscard]] std::int64_t product_step(std::int64_t k_padded) const { return is_shared() ? 0 : elements(k_padded); }
};

/// Sizes of panels, and which products of a batch they hold.
struct PanelRange {
  std::int64_t k;
  std::int64_t k_padded;
  std::int64_t first = 0;
  std::int64_t count = 1;
};

/// Copies an operand of `type` into panels. `options` are those of the elements.
[[nodiscard]] Status enqueue_pack(const Launch& launch, const Side& side, const BufferSpan& span, ElementType type,
                                  cl_mem panels, const PanelRange& range, const std::string& options);

/// Panels of both sides; `totals` holds what chunks have summed so far.
struct PanelProduct {
  cl_mem a = nullptr;
  std::int64_t a_step = 0;
  cl_mem b = nullptr;
  std::int64_t b_step = 0;
  cl_mem totals = nullptr;
  std::int64_t k_padded = 0;
};

/// `d` and `launch` say what becomes of the sums; `count` products of d, the first one number `first`.
[[nodiscard]] Status enqueue_packed(const Launch& launch, const GemmDescription& d, const PanelProduct& panels,
                                    const PackedParameters& parameters, std::int64_t first, std::int64_t count,
                                    const std::string& options);

}  // namespace exactile::opencl
