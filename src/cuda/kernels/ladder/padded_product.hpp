// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products by tiles of a transposed A and of B that both end with whole tiles: the kernel never asks where a matrix
/// ends.
#pragma once

#include <string_view>

#include "cuda/kernel.hpp"
#include "cuda/tile/transposed_copy.hpp"

namespace exactile::cuda {

/// What one block does: rows x columns of C in steps of `depth` terms.
struct TileShape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

/// Copies A and, where it has to, B to the workspace, as many products at once as fit, and hands them to the kernel.
class PaddedProduct : public DeviceProduct {
 public:
  /// `always_copies_b`: else B is used where it lies if its rows are contiguous and its sizes are multiples of the
  /// tile.
  PaddedProduct(const GemmDescription& description, const TileShape& tile, bool always_copies_b,
                std::string_view kernel);

  [[nodiscard]] Status launch(const Launch& launch) const final;
  [[nodiscard]] std::int64_t workspace_bytes() const final { return at_once_ * product_bytes(); }
  /// The copies, written and read, and what tiles read.
  [[nodiscard]] double model_bytes() const final;

 protected:
  /// Enqueues the kernel on operands that are padded; d.batch_count of them.
  virtual void launch_tiles(const GemmDescription& d, const GemmArguments& arguments, cudaStream_t stream) const = 0;
  /// "BM=128 BN=128 BK=16, B copied"
  [[nodiscard]] std::string tile_text() const;

 private:
  [[nodiscard]] std::int64_t product_bytes() const { return a_.product_bytes() + (copies_b_ ? b_.product_bytes() : 0); }

  GemmDescription description_;
  TileShape tile_;
  std::string_view kernel_;
  TransposedCopy a_;
  TransposedCopy b_;  ///< of B's transpose: B's rows stay rows
  bool copies_b_;
  std::int64_t at_once_;
};

}  // namespace exactile::cuda
