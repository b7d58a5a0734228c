// SPDX-License-Identifier: Apache-2.0
/// \file The sums of blocks of terms: what vectors.cpp adds up, in tiles of lines.
#pragma once

#include <algorithm>

#include "core/checked.hpp"
#include "cpu/isa.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/model/team.hpp"
#include "cpu/small/vector_roles.hpp"

namespace exactile::cpu {

/// One product of the batch.
template <class In>
struct VectorOperands {
  const In* w;
  const In* x;
  void* c;
};

/// Terms whose sums are formed before they are added to those of the blocks before.
template <class In>
[[nodiscard]] std::int64_t block_terms(const VectorRoles& roles) {
  return roles.across ? line_chunk_terms<In> : lane_block_terms;
}

/// Lines whose sums are held at one time, at most.
template <class In>
[[nodiscard]] std::int64_t lines_of_tile(const VectorRoles& roles) {
  constexpr std::int64_t lines_along = 512;
  constexpr std::int64_t lines_copied = 4;
  if (roles.across) return across_columns<In>(static_cast<int>(roles.vectors));
  return roles.w_term_stride != 1 ? lines_copied : lines_along;
}

/// Lines that a thread takes at a time. Where they are neighbours it reads at least 256 bytes of each row.
template <class In>
[[nodiscard]] std::int64_t lines_of_part(const VectorRoles& roles) {
  return roles.across ? std::max<std::int64_t>(64, 256 / static_cast<std::int64_t>(sizeof(In))) : 8;
}

/// How threads share the work: whole products where there are enough; else lines, where half of the threads have some;
/// else blocks of terms, whose sums one thread adds.
struct VectorShares {
  enum class Of : std::uint8_t { products, lines, blocks };
  Of of;
  std::int64_t parts;
  int threads;
};

template <class In>
[[nodiscard]] VectorShares shares_of(const VectorRoles& roles, std::int64_t products, int most) {
  const std::int64_t lines = core::ceil_divide(roles.lines, lines_of_part<In>(roles));
  const std::int64_t blocks = core::ceil_divide(roles.terms, block_terms<In>(roles));
  const int threads = members(std::max({products, lines, blocks}), most);
  if (products >= threads) return {VectorShares::Of::products, products, threads};
  if (2 * lines >= threads && lines > products) return {VectorShares::Of::lines, lines, members(lines, threads)};
  return {VectorShares::Of::blocks, blocks, threads};
}

template <class In>
class VectorBlocks {
 public:
  using Sum = Accumulator<In>;
  using Lane = LaneOf<In>;

  /// Of one thread.
  struct Room {
    Sum* sums;
    Sum* block;  ///< the sums of one block of terms
    Lane* held;
    Lane* ends;
    In* copies;
  };

  VectorBlocks(const VectorRoles& roles, const VectorKernels<In>& kernels)
      : r_(roles), kernels_(kernels), block_(block_terms<In>(roles)), one_by_one_(reads_one_by_one()) {
    tile_ = std::min(lines_of_tile<In>(r_), core::round_up(r_.lines, 4));
  }

  /// Whether there is one sum, of neighbours.
  [[nodiscard]] bool is_dot() const { return cpu::is_dot(r_) && kernels_.dot != nullptr; }
  [[nodiscard]] std::int64_t count() const { return core::ceil_divide(r_.terms, block_); }
  [[nodiscard]] std::int64_t terms() const { return std::min(block_, r_.terms); }  ///< of a block, but for the last
  [[nodiscard]] std::int64_t tile() const { return tile_; }  ///< lines whose sums are held at one time
  [[nodiscard]] std::int64_t bytes_per_thread() const {
    const std::int64_t copies = copies_lines() ? tile_ * std::min(block_, r_.terms) : 0;
    return core::round_up(2 * bytes_of_sums() + bytes_of_held() + copies * static_cast<std::int64_t>(sizeof(In)), 64);
  }
  [[nodiscard]] Room room_of(char* scratch) const {
    auto* held = reinterpret_cast<Lane*>(scratch + 2 * bytes_of_sums());
    Lane* ends = held + (reads_x_in_place() ? 0 : r_.vectors * held_lanes_of_vector());
    return {reinterpret_cast<Sum*>(scratch), reinterpret_cast<Sum*>(scratch + bytes_of_sums()), held, ends,
            reinterpret_cast<In*>(scratch + 2 * bytes_of_sums() + bytes_of_held())};
  }

  /// The sums of block number `block` for some lines, at most a tile.
  void sum(const VectorOperands<In>& data, std::int64_t block, Range lines, const Room& room, Sum* sums) const;

 private:
  [[nodiscard]] bool copies_lines() const { return !r_.across && r_.w_term_stride != 1; }
  /// Whether lines are read one by one: on processors that read one stream faster, where two lines, or one for each
  /// vector if there are more, begin within two pages.
  [[nodiscard]] bool reads_one_by_one() const {
    constexpr std::int64_t two_pages = 8192 / static_cast<std::int64_t>(sizeof(In));
    const std::int64_t most = two_pages / std::max<std::int64_t>(r_.vectors, 2);
    return r_.lines > 1 && -most <= r_.w_line_stride && r_.w_line_stride <= most && reads_one_stream_faster();
  }
  /// Whether x is read where it lies: its elements are the lanes, and neighbours.
  [[nodiscard]] bool reads_x_in_place() const { return std::is_same_v<In, Lane> && r_.x_term_stride == 1; }
  [[nodiscard]] std::int64_t held_lanes_of_vector() const {
    return core::round_up(std::min(block_, r_.terms), held_padding) * held_lanes<In>;
  }
  [[nodiscard]] std::int64_t bytes_of_sums() const {
    return core::round_up(tile_ * r_.vectors * static_cast<std::int64_t>(sizeof(Sum)), 64);
  }
  [[nodiscard]] std::int64_t bytes_of_held() const {
    const std::int64_t lanes = reads_x_in_place() ? 0 : held_lanes_of_vector();
    return r_.vectors * (lanes + held_padding * held_lanes<In>)*static_cast<std::int64_t>(sizeof(Lane));
  }
  [[nodiscard]] HeldVectors<In> hold(const VectorOperands<In>& data, Range terms, const Room& room) const;

  VectorRoles r_;
  const VectorKernels<In>& kernels_;
  std::int64_t block_;  ///< terms whose sums are formed before they are added to those of the blocks before
  bool one_by_one_;
  std::int64_t tile_;
};

template <class In>
HeldVectors<In> VectorBlocks<In>::hold(const VectorOperands<In>& data, Range terms, const Room& room) const {
  const std::int64_t count = terms.end - terms.begin;
  const std::int64_t whole = count / held_padding * held_padding;
  const In* x = data.x + terms.begin * r_.x_term_stride;
  if constexpr (std::is_same_v<In, Lane>) {
    if (reads_x_in_place()) {
      for (std::int64_t i = 0; i < r_.vectors; ++i)
        kernels_.hold(x + i * r_.x_vector_stride + whole, 1, count - whole, room.ends + i * held_padding);
      return {x, r_.x_vector_stride, room.ends, held_padding};
    }
  }
  const std::int64_t stride = held_lanes_of_vector();
  for (std::int64_t i = 0; i < r_.vectors; ++i)
    kernels_.hold(x + i * r_.x_vector_stride, r_.x_term_stride, count, room.held + i * stride);
  return {room.held, stride, room.held + whole * held_lanes<In>, stride};
}

/// The sums of one block's terms for some lines.
template <class In>
void VectorBlocks<In>::sum(const VectorOperands<In>& data, std::int64_t block, Range lines, const Room& room,
                           Sum* sums) const {
  const Range terms{block * block_, std::min((block + 1) * block_, r_.terms)};
  const std::int64_t count = terms.end - terms.begin;
  const std::int64_t here = lines.end - lines.begin;
  if (is_dot()) {
    *sums = kernels_.dot(data.w + terms.begin, data.x + terms.begin, count);
    return;
  }
  const HeldVectors<In> x = hold(data, terms, room);
  const In* w = data.w + lines.begin * r_.w_line_stride + terms.begin * r_.w_term_stride;
  const int vectors = static_cast<int>(r_.vectors);
  if (r_.across) {
    kernels_.across(w, r_.w_term_stride, here, count, x.held, x.held_stride, vectors, sums);
    return;
  }
  std::int64_t stride = r_.w_line_stride;
  if (copies_lines()) {
    for (std::int64_t j = 0; j < here; ++j)
      for (std::int64_t p = 0; p < count; ++p)
        room.copies[j * count + p] = w[j * r_.w_line_stride + p * r_.w_term_stride];
    w = room.copies;
    stride = count;
  }
  kernels_.along(w, stride, here, count, x, vectors, one_by_one_, sums);
}

}  // namespace exactile::cpu
