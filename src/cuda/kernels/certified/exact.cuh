// SPDX-License-Identifier: Apache-2.0
/// \file
/// Doubtful elements, summed without an error. A warp takes an element: each lane adds its terms to a fixed-point
/// number of its own in shared memory, whose lanes are then added digit by digit. The cost of a term does not depend on
/// the data. Neighbouring elements go to the warps of one block, which read the same sectors where many are in doubt.
#pragma once

#include "cuda/kernels/certified/finish.cuh"

namespace exactile::cuda::certified {

/// Shared memory of a block.
template <bool IsWide>
struct ExactShape {
  using Room = Extent<IsWide>;
  static constexpr int warps = IsWide ? 1 : 8;
  static constexpr int blocks = IsWide ? 5 : 4;  ///< that an SM of compute capability 9.0 has room for
  static constexpr int threads = 32 * warps;
  /// Of a warp: each lane's digits, two sums, and the whole that is rounded.
  static constexpr int warp_digits = 32 * Room::digits + 2 * Room::digits + Room::whole_digits;
  static constexpr int shared_bytes = 8 * warps * warp_digits;
};

/// A warp's numbers.
template <bool IsWide>
class ExactElement {
 public:
  using Room = Extent<IsWide>;

  __device__ ExactElement(std::int64_t* memory, int lane)
      : lanes_(memory), sums_(memory + 32 * Room::digits), whole_(sums_ + 2 * Room::digits), lane_(lane) {}

  /// The sum of `terms` of a row of A times those of a column of B, kept as sum `which`; Inf or NaN of its elements,
  /// else 0.
  template <class Row, class Column>
  __device__ double sum(const Row& row, const Column& column, std::int64_t terms, int which) {
    for (int d = 0; d < Room::digits; ++d) lanes_[d * 32 + lane_] = 0;
    const Digits mine{lanes_ + lane_, 32, Room::lowest};
    double special = 0;
    constexpr int before_carry = 1024;
    int added = 0;
    Terms now = terms_at(row, column, terms, lane_);
    for (std::int64_t k = lane_; k < terms; k += 32 * at_once) {
      const Terms next = terms_at(row, column, terms, k + 32 * at_once);  // on their way meanwhile
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        const double product = multiply_rn(now.x[q], now.y[q]);
        if (!isfinite(now.x[q]) || !isfinite(now.y[q]))
          special += product;
        else if constexpr (IsWide)
          add_product(mine, now.x[q], now.y[q], AddAlone());
        else
          add_narrow_product(mine, product);
      }
      now = next;
      added += at_once;
      if (added == before_carry) {
        carry_all(mine, Room::digits);
        added = 0;
      }
    }
    for (int apart = 16; apart > 0; apart /= 2) special += __shfl_xor_sync(0xffffffff, special, apart);
    __syncwarp();
    join(which);
    return special;
  }

  /// -1, 0 or 1; for one lane.
  [[nodiscard]] __device__ double sign_of(int which) const {
    const Digits digits = sum(which);
    carry_all(digits, Room::digits);
    if (digits[Room::digits - 1] < 0) return -1;
    for (int d = 0; d < Room::digits; ++d)
      if (digits[d] != 0) return 1;
    return 0;
  }

  /// The form's value, rounded; all of its numbers and sums are finite. Known to lane 0.
  __device__ double rounded_form(const Form& form, Format format) {
    for (int d = lane_; d < Room::whole_digits; d += 32) whole_[d] = 0;
    __syncwarp();
    const Digits whole{whole_, 1, Room::whole_lowest};
    for (int t = 0; t < form.count; ++t)
      for (int d = lane_; d < Room::digits; d += 32)
        add_scaled(whole, form.factor[t], sum(form.sum[t]), d, AddTogether());
    __syncwarp();
    if (lane_ != 0) return 0;
    for (int t = 0; t < form.fixed_count; ++t) add_product(whole, form.fixed[t][0], form.fixed[t][1], AddAlone());
    add_number(whole, form.bias, AddAlone());
    return rounded(whole, Room::whole_digits, format);
  }

 private:
  static constexpr int at_once = 4;
  struct Terms {
    double x[at_once];
    double y[at_once];
  };
  /// Every 32nd from k on; zero behind the end.
  template <class Row, class Column>
  [[nodiscard]] static __device__ Terms terms_at(const Row& row, const Column& column, std::int64_t terms,
                                                 std::int64_t k) {
    Terms all;
#pragma unroll
    for (int q = 0; q < at_once; ++q) {
      const bool inside = k + 32 * q < terms;
      all.x[q] = inside ? row(k + 32 * q) : 0;
      all.y[q] = inside ? column(k + 32 * q) : 0;
    }
    return all;
  }

  [[nodiscard]] __device__ Digits sum(int which) const { return {sums_ + which * Room::digits, 1, Room::lowest}; }

  /// Adds the lanes' digits: a lane takes every 32nd, and starts with another lane than its neighbours do, whose digits
  /// lie in other banks. Digits of the sum have 34 bits at most.
  __device__ void join(int which) {
    std::int64_t from_below = 0;  // carry of the digit below the first of 32
    for (int first = 0; first < Room::digits; first += 32) {
      const int d = first + lane_;
      std::int64_t digit = 0;
      if (d < Room::digits)
        for (int lane = 0; lane < 32; ++lane) digit += lanes_[d * 32 + (lane + lane_) % 32];
      const std::int64_t carry = d + 1 < Room::digits ? digit >> 32 : 0;
      std::int64_t below = __shfl_up_sync(0xffffffff, carry, 1);
      if (lane_ == 0) below = from_below;
      from_below = __shfl_sync(0xffffffff, carry, 31);
      if (d < Room::digits)
        sums_[which * Room::digits + d] = (d + 1 < Room::digits ? digit & 0xffffffff : digit) + below;
    }
    __syncwarp();
  }

  std::int64_t* lanes_;
  std::int64_t* sums_;
  std::int64_t* whole_;
  int lane_;
};

/// Sums an element and stores it.
template <class Out, int Parts, bool IsWide>
__device__ void settle(const Finish& f, ExactElement<IsWide>& element, std::int64_t product, std::int64_t i,
                       std::int64_t j) {
  const Place<Out, Parts> place(f, product, i, j);
  const bool is_first = threadIdx.x % 32 == 0;
  double specials[2] = {};
  const double* const row = f.a.lane(product, i);
  const float* copy = nullptr;
  if (f.a_by_terms != nullptr)
    copy = f.a_by_terms + ((f.a.product_stride != 0 ? product * f.a.lanes : 0) + i) * f.a.terms;
  const auto of_row = [&](std::int64_t k) {
    return copy != nullptr ? static_cast<double>(copy[k]) : row[k * f.a.term_stride];
  };
#pragma unroll 1
  for (int p = 0; p < Parts; ++p) {
    const double* const column = f.b.lane(product, j * Parts + p);
    const auto of_column = [&](std::int64_t k) { return column[k * f.b.term_stride]; };
    specials[p] = element.sum(of_row, of_column, f.a.terms, p);
  }
  double results[Parts];
#pragma unroll
  for (int p = 0; p < Parts; ++p) {
    const Form form = place.form(p);
    bool is_finite = form.is_finite();
    for (int t = 0; t < form.count; ++t) is_finite = is_finite && specials[form.sum[t]] == 0;
    if (is_finite) {
      results[p] = element.rounded_form(form, format_of<Out>);
    } else if (is_first) {
      double stand_ins[2] = {};
      for (int t = 0; t < form.count; ++t) {
        const double special = specials[form.sum[t]];
        stand_ins[form.sum[t]] = special == 0 ? element.sign_of(form.sum[t]) : special;
      }
      results[p] = form.special(stand_ins);
    }
    __syncwarp();
  }
  if (is_first)
#pragma unroll
    for (int p = 0; p < Parts; ++p) place.store(p, results[p]);
  __syncwarp();
}

/// Blocks take as many entries of the list of doubts each, their warps the elements of these by turns.
template <class Out, int Parts, bool IsWide>
__global__ void __launch_bounds__(ExactShape<IsWide>::threads, ExactShape<IsWide>::blocks)
    exact_kernel(const __grid_constant__ Finish f) {
  using Shape = ExactShape<IsWide>;
  extern __shared__ std::int64_t memory[];
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  ExactElement<IsWide> element(memory + warp * Shape::warp_digits, lane);
  const std::uint32_t all = *f.doubt_count;
  const std::uint32_t share = min(all / gridDim.x + 1, 32U);  // one for each lane at most
  for (std::uint64_t first = blockIdx.x * share; first < all; first += gridDim.x * share) {
    Doubt mine{};
    if (lane < share && first + lane < all) mine = f.doubts[first + lane];
    int before = __popc(mine.marks);  // elements up to this entry's last
    for (int apart = 1; apart < 32; apart *= 2) {
      const int other = __shfl_up_sync(0xffffffff, before, apart);
      if (lane >= apart) before += other;
    }
    const int count = __shfl_sync(0xffffffff, before, 31);
    for (int e = warp; e < count; e += Shape::warps) {
      const int entry = __popc(__ballot_sync(0xffffffff, before <= e));
      const std::int64_t word = __shfl_sync(0xffffffff, mine.word, entry);
      const std::uint32_t marks = __shfl_sync(0xffffffff, mine.marks, entry);
      const int nth = e - __shfl_sync(0xffffffff, before, entry) + __popc(marks);
      const std::int64_t in_product = word % f.product_words;
      const std::int64_t i = in_product % f.column_words * 32 + __fns(marks, 0, nth + 1);
      settle<Out, Parts, IsWide>(f, element, word / f.product_words, i, in_product / f.column_words);
    }
  }
}

}  // namespace exactile::cuda::certified
