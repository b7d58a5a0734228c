// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "cpu/loops/a_block.hpp"
#include "cpu/loops/a_share.hpp"
#include "cpu/loops/loop_step.hpp"
#include "cpu/loops/outline.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/loops/rounded_c.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {

/// The loops that packed.hpp tells of.
template <class K>
class Packed final : public Product<K> {
 public:
  Packed(const plan::Problem& problem, const MicroKernels<K>& kernels, std::string_view name);

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override;
  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return static_cast<std::int64_t>(sizeof(Lane)) * (a_buffers() * a_elements_ + threads_ * room_elements());
  }

 private:
  using Lane = cpu::Lane<K>;
  using Sum = cpu::Sum<K>;
  using Base = Product<K>;
  using Base::kernels_;
  using Base::o_;
  using Step = LoopStep<K>;
  using Block = BlockOfC<K>;
  using RowTile = cpu::RowTile<K>;
  /// What the members of a team tell each other.
  struct Shared {
    std::unique_ptr<std::atomic<std::int64_t>[]> next_tiles;  ///< of two steps
    std::unique_ptr<std::atomic<std::int32_t>[]> least;       ///< of an A in place
  };

  Packed(const plan::Problem& problem, const MicroKernels<K>& kernels, std::string_view name, const Outline& outline);

  [[nodiscard]] bool make(Shared& shared) const;
  void begin(const Shared& shared) const;
  void run_product(const GemmArguments& arguments, std::int64_t product, Lane* scratch, const Shared& shared,
                   const Member& member) const;
  /// The block of A after that one, in the other buffer; without rows after the last.
  [[nodiscard]] ABlock<K> block_after(const ABlock<K>& block, Lane* buffer) const;
  void compute(const Step& step, Lane* room, AShare<K>& share, const Member& member) const;
  [[nodiscard]] std::int64_t blocks() const { return row_blocks_ * column_blocks_; }
  [[nodiscard]] Range tiles_of(const Step& step, std::int64_t block) const {
    return part_of(a_.tiles(step.a), row_blocks_, block / column_blocks_);
  }
  [[nodiscard]] Block block_at(const Step& step, std::int64_t index, Lane* room, AShare<K>& share, bool first) const;
  [[nodiscard]] std::int64_t next_block(const Step& step, const Member& member) const;
  void multiply_block(const Step& step, const Block& block, const Member& member) const;
  void multiply_row(const Step& step, const Block& block, TileAndNext tile, bool packing) const;
  void pack_group(const Block& block, const RowTile& row, std::int64_t panel) const;
  void multiply_panel(const Block& block, const RowTile& row, std::int64_t panel, Sum alpha, bool packing) const;
  void multiply_packed_panels(const Block& block, const RowTile& row, Sum alpha) const;
  /// The share of one panel in asking for the next tile of A, and its tile of C.
  [[nodiscard]] Ahead<Sum> ahead_of(const Block& block, const RowTile& row, std::int64_t panel, const Sum* c) const;
  [[nodiscard]] Range columns_of(Range panels) const {
    return {panels_.part(panels.begin).begin * kernels_.lanes, panels_.part(panels.end - 1).end * kernels_.lanes};
  }
  /// Of one thread: its block of B, its tile of A, its row tile of sums.
  [[nodiscard]] std::int64_t room_elements() const { return b_elements_ + tile_elements_ + sums_elements_; }
  /// Two where members may pack the next block while others read this one.
  [[nodiscard]] int a_buffers() const { return threads_ == 1 ? 1 : 2; }

  Blocking blocking_sizes_;
  AReader<K> a_;
  std::int64_t a_elements_;     ///< of one buffer of A
  std::int64_t b_elements_;     ///< of one thread's block of B
  std::int64_t tile_elements_;  ///< of one thread's tile of A
  std::int64_t sums_elements_;  ///< of one thread's sums of a row tile and block; none where C takes them
  int threads_;
  std::int64_t panel_count_;
  Parts panels_;                ///< of NR columns or a vector less, in vectors
  std::int64_t row_blocks_;     ///< of nearly equal height, of an A in place that several threads read
  std::int64_t column_blocks_;  ///< of nearly equal width; blocks of C are at least as many as threads if they can
  bool c_is_far_;               ///< so large that its tiles come from memory
  std::unique_ptr<RoundedC> rounded_;  ///< takes the sums instead of C; all terms are then one step
  Orientation of_sums_;                ///< with the layout of what the micro-kernels write: C, or a row tile of sums
  bool packs_groups_;                  ///< panels of B together, see pack_group(), or each inside its micro-kernel
};

}  // namespace exactile::cpu
