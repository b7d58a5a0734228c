// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands of any floating type and layout as panels of f64, and norms and steps of their lines. A block takes 32
/// lanes and a slice of the terms, tile by tile of 32 x 32 through shared memory: both sides touch whole sectors.
#pragma once

#include "cuda/kernels/certified/parameters.cuh"
#include "cuda/kernels/certified/rounding.cuh"

namespace exactile::cuda::certified {

enum class Norm : std::uint8_t { two, sum, largest };

/// What a block knows of a lane.
struct Measured {
  double norm = 0;         ///< of squares times roundings, absolute values, or the largest one
  double squares = 0;      ///< where norms are of squares
  double step = HUGE_VAL;  ///< each element is a multiple of this power of two
};

/// One operand on its way.
template <class In>
struct Widening {
  const In* from;
  OperandLayout layout;  ///< strides of elements; a complex one's are real numbers apart
  std::int64_t lane_stride;
  std::int64_t term_stride;
  bool is_b;
  bool conjugate;
  Norm norm;
  Panel to;
  float* copy;         ///< the elements again, a lane's terms side by side; or null
  Measured* measured;  ///< of each slice of the terms and lane
  std::int64_t products;
  std::int64_t slices;
  std::int64_t slice_terms;  ///< a multiple of 32

  [[nodiscard]] __host__ __device__ std::int64_t strips() const { return (to.lanes + 31) / 32; }
};

template <class In>
struct RealPart {
  using type = In;
};
template <class T>
struct RealPart<Complex<T>> {
  using type = T;
};

template <class In>
[[nodiscard]] __device__ double wide_number(In x) {
  return static_cast<double>(widen(x));
}

/// Of a complex operand: lane and term are those of the real panel.
template <class In>
[[nodiscard]] __device__ double element_at(const Widening<In>& w, const In* from, std::int64_t lane,
                                           std::int64_t term) {
  if constexpr (!is_complex_v<In>) {
    return wide_number(from[lane * w.lane_stride + term * w.term_stride]);
  } else {
    using Part = typename RealPart<In>::type;
    const int of_term = static_cast<int>(term % 2);
    const int of_lane = w.is_b ? static_cast<int>(lane % 2) : 0;
    const bool imaginary = of_lane != of_term;
    const In* element = from + (w.is_b ? lane / 2 : lane) * w.lane_stride + term / 2 * w.term_stride;
    const double x = static_cast<double>(reinterpret_cast<const Part*>(element)[imaginary ? 1 : 0]);
    const bool turned = w.is_b && of_lane == 0 && of_term == 1;
    return imaginary && turned != w.conjugate ? -x : x;
  }
}

/// The power of two that is the value of x's last bit that is set; infinite for zero.
[[nodiscard]] __device__ inline double last_bit(double x) {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  const double without = __builtin_bit_cast(double, bits&(bits - 1));
  const bool is_power = (bits & ((std::uint64_t{1} << 52) - 1)) == 0;
  return x == 0 ? HUGE_VAL : is_power ? fabs(x) : fabs(x - without);
}

__device__ inline void measure(Measured& m, double x, Norm norm, double roundings) {
  const double last = last_bit(x);
  m.step = last < m.step ? last : m.step;
  const double size = fabs(x);
  if (norm == Norm::two) {
    const double square = x * x;
    m.squares += square;
    m.norm = fma(roundings, square, m.norm);
  } else if (norm == Norm::sum) {
    m.norm += size;
  } else {
    m.norm = size > m.norm || size != size ? size : m.norm;
  }
}

__device__ inline void join(Measured& m, const Measured& other, Norm norm) {
  m.step = other.step < m.step ? other.step : m.step;
  m.squares += other.squares;
  if (norm != Norm::largest)
    m.norm += other.norm;
  else
    m.norm = other.norm > m.norm || other.norm != other.norm ? other.norm : m.norm;
}

template <class In>
__device__ void widen_slice(const Widening<In>& w, std::int64_t strip, std::int64_t slice, std::int64_t product) {
  __shared__ double tile[32][33];
  __shared__ Measured parts[8][32];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const std::int64_t lane0 = strip * 32;
  const std::int64_t end = min(w.to.terms, (slice + 1) * w.slice_terms);
  const In* const from = product_base(w.from, w.layout, product);
  double* const to = w.to.elements + product * w.to.product_stride;
  float* const copy = w.copy == nullptr ? nullptr : w.copy + product * w.to.lanes * w.to.terms;
  // Lanes of a warp read neighbours.
  const bool along_lanes = std::abs(w.lane_stride) < std::abs(w.term_stride);
  const bool writes_lanes = w.to.lane_stride == 1;
  Measured mine;
  for (std::int64_t term0 = slice * w.slice_terms; term0 < end; term0 += 32) {
#pragma unroll
    for (int q = 0; q < 32; q += 8) {
      const int lane = along_lanes ? x : y + q;
      const int term = along_lanes ? y + q : x;
      const bool inside = lane0 + lane < w.to.lanes && term0 + term < end;
      tile[lane][term] = inside ? element_at(w, from, lane0 + lane, term0 + term) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 32; q += 8) {
      measure(mine, tile[x][y + q], w.norm, roundings_of(term0 + q, w.to.terms));
      const int lane = writes_lanes ? x : y + q;
      const int term = writes_lanes ? y + q : x;
      if (lane0 + lane < w.to.lanes && term0 + term < end)
        to[(lane0 + lane) * w.to.lane_stride + (term0 + term) * w.to.term_stride] = tile[lane][term];
      if (copy != nullptr && lane0 + y + q < w.to.lanes && term0 + x < end)
        copy[(lane0 + y + q) * w.to.terms + term0 + x] = static_cast<float>(tile[y + q][x]);
    }
    __syncthreads();
  }
  parts[y][x] = mine;
  __syncthreads();
  if (y != 0 || lane0 + x >= w.to.lanes) return;
  for (int p = 1; p < 8; ++p) join(mine, parts[p][x], w.norm);
  w.measured[(product * w.slices + slice) * w.to.lanes + lane0 + x] = mine;
}

/// Blocks of A, then those of B. Many at a time on an SM: each waits for memory.
template <class In>
__global__ void __launch_bounds__(256, 4)
    widen_kernel(const __grid_constant__ Widening<In> a, const __grid_constant__ Widening<In> b) {
  const std::int64_t of_a = a.strips() * a.slices;
  const bool is_a = blockIdx.x < of_a;
  const std::int64_t block = is_a ? blockIdx.x : blockIdx.x - of_a;
  const Widening<In>& w = is_a ? a : b;
  for (std::int64_t product = blockIdx.y; product < w.products; product += gridDim.y) {
    widen_slice(w, block % w.strips(), block / w.strips(), product);
    __syncthreads();
  }
}

/// What is known of a panel's lines.
struct Measuring {
  Panel panel;
  const Measured* measured;
  std::int64_t products;
  std::int64_t slices;
  Norm norm;
};

/// Norms come out as powers of two where sums are extracted.
__device__ inline Line line_of(const Measured& m, Norm kind, std::int64_t terms) {
  const double more = 1 + static_cast<double>(terms + 2) * 0x1p-51;
  if (kind == Norm::two) return {more * sqrt(m.norm), m.step, more * sqrt(m.squares) / m.step};
  double norm = more * m.norm;
  if (isfinite(norm) && norm != 0) norm = norm < 0x1p-1022 ? 0x1p-1022 : ldexp(1.0, ilogb(norm) + 1);
  return {norm, m.step, norm / m.step};
}

__global__ void __launch_bounds__(256)
    line_kernel(const __grid_constant__ Measuring a, const __grid_constant__ Measuring b) {
  const std::int64_t of_a = a.panel.lanes * a.products;
  std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x;
  const bool is_a = index < of_a;
  const Measuring& w = is_a ? a : b;
  if (!is_a) index -= of_a;
  if (index >= w.panel.lanes * w.products) return;
  const std::int64_t product = index / w.panel.lanes;
  const std::int64_t lane = index % w.panel.lanes;
  Measured all;
  for (std::int64_t s = 0; s < w.slices; ++s)
    join(all, w.measured[(product * w.slices + s) * w.panel.lanes + lane], w.norm);
  w.panel.lines[product * w.panel.line_stride + lane] = line_of(all, w.norm, w.panel.terms);
}

}  // namespace exactile::cuda::certified
