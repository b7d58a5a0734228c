// SPDX-License-Identifier: Apache-2.0
/// \file
/// Doubtful elements, summed without an error. A warp takes an element: each lane adds its terms to a fixed-point
/// number of its own in shared memory, whose lanes are then added digit by digit. The cost of a term does not depend on
/// the data. Neighbouring elements go to the warps of one block, which read the same sectors.
#pragma once

#include "cuda/kernels/certified/finish.cuh"

namespace exactile::cuda::certified {

/// Shared memory of a block, and how much it looks at before it sums.
template <bool IsWide>
struct ExactShape {
  using Room = Extent<IsWide>;
  static constexpr int warps = IsWide ? 2 : 8;
  static constexpr int blocks = IsWide ? 2 : 3;  ///< that an SM of compute capability 9.0 has room for
  static constexpr int threads = 32 * warps;
  static constexpr int words = 32;  ///< of marks that belong together
  static constexpr int most_listed = 32 * threads;
  /// Of a warp: each lane's digits, two sums, and the whole that is rounded.
  static constexpr int warp_digits = 32 * Room::digits + 2 * Room::digits + Room::whole_digits;
  static constexpr int shared_bytes = 8 * warps * warp_digits + 4 * most_listed;
};

/// A warp's numbers.
template <bool IsWide>
class ExactElement {
 public:
  using Room = Extent<IsWide>;

  __device__ ExactElement(std::int64_t* memory, int lane)
      : lanes_(memory), sums_(memory + 32 * Room::digits), whole_(sums_ + 2 * Room::digits), lane_(lane) {}

  /// The sum of a row of A and a column of B, kept as sum `which`; Inf or NaN of its elements, else 0.
  __device__ double sum(const Panel& a, const double* row, const double* column, const Panel& b, int which) {
    for (int d = 0; d < Room::digits; ++d) lanes_[d * 32 + lane_] = 0;
    const Digits mine{lanes_ + lane_, 32, Room::lowest};
    double special = 0;
    constexpr int at_once = 4;
    constexpr int before_carry = 1024;
    int terms = 0;
    for (std::int64_t k = lane_; k < a.terms; k += 32 * at_once) {
      double x[at_once];
      double y[at_once];
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        const bool inside = k + 32 * q < a.terms;
        x[q] = inside ? row[(k + 32 * q) * a.term_stride] : 0;
        y[q] = inside ? column[(k + 32 * q) * b.term_stride] : 0;
      }
#pragma unroll
      for (int q = 0; q < at_once; ++q) {
        const double product = multiply_rn(x[q], y[q]);
        if (!isfinite(x[q]) || !isfinite(y[q]))
          special += product;
        else if constexpr (IsWide)
          add_product(mine, x[q], y[q], AddAlone());
        else
          add_narrow_product(mine, product);
      }
      terms += at_once;
      if (terms == before_carry) {
        carry_all(mine, Room::digits);
        terms = 0;
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
#pragma unroll 1
  for (int p = 0; p < Parts; ++p)
    specials[p] = element.sum(f.a, f.a.lane(product, i), f.b.lane(product, j * Parts + p), f.b, p);
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

/// The marked elements of a group of words, appended to a list. Every thread looks at one word.
__device__ inline void list_marked(std::uint32_t marks, std::uint32_t word, std::uint32_t* list, int* count) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int mine = __popc(marks);
  int before = mine;
  for (int apart = 1; apart < 32; apart *= 2) {
    const int other = __shfl_up_sync(0xffffffff, before, apart);
    if (lane >= apart) before += other;
  }
  int base = 0;
  if (lane == 31 && before != 0) base = atomicAdd(count, before);
  int at = __shfl_sync(0xffffffff, base, 31) + before - mine;
  for (; marks != 0; marks &= marks - 1) list[at++] = word * 32 + __ffs(static_cast<int>(marks)) - 1;
}

/// Blocks take groups of `words` words by turns, and look at some groups before they sum what is marked there. Elements
/// in lists are counted from `base`, the first of the groups that a block looks at.
template <class Out, int Parts, bool IsWide>
__global__ void __launch_bounds__(ExactShape<IsWide>::threads)
    exact_kernel(const __grid_constant__ Finish f, std::uint32_t at_once) {
  using Shape = ExactShape<IsWide>;
  extern __shared__ std::int64_t memory[];
  __shared__ int count;
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  auto* const list = reinterpret_cast<std::uint32_t*>(memory + Shape::warps * Shape::warp_digits);
  ExactElement<IsWide> element(memory + warp * Shape::warp_digits, lane);
  const std::int64_t all = f.product_words * f.products;
  const std::int64_t groups = (all + Shape::words - 1) / Shape::words;
  const std::int64_t turn = static_cast<std::int64_t>(gridDim.x) * at_once;  // groups
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * at_once; first < groups; first += turn) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const std::int64_t base = first * Shape::words;
    const std::int64_t word = base + threadIdx.x;
    const bool looks = threadIdx.x < at_once * Shape::words && word < all;
    list_marked(looks ? f.doubtful[word] : 0, threadIdx.x, list, &count);
    __syncthreads();
    for (int e = warp; e < count; e += Shape::warps) {
      const std::int64_t marked = base + list[e] / 32;
      const std::int64_t in_product = marked % f.product_words;
      const std::int64_t i = in_product % f.column_words * 32 + list[e] % 32;
      settle<Out, Parts, IsWide>(f, element, marked / f.product_words, i, in_product / f.column_words);
    }
    __syncthreads();
  }
}

}  // namespace exactile::cuda::certified
