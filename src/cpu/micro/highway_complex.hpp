// SPDX-License-Identifier: Apache-2.0
/// \file
/// Complex numbers, whose parts lie in neighbouring lanes: the update of C.
#pragma once

#include <complex>

#include "cpu/micro/highway_vector.hpp"
#include "cpu/micro/tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// `even` and `odd` in turn.
template <class T>
HWY_INLINE Vector<T> alternating(T even, T odd) {
  const Lanes<T> d;
  return hn::OddEven(hn::Set(d, odd), hn::Set(d, even));
}

/// factor * z + sum, where a factor without an imaginary part multiplies both parts and nothing else.
template <class T>
class ComplexFactor {
 public:
  explicit HWY_INLINE ComplexFactor(std::complex<T> factor)
      : is_real_(factor.imag() == 0),
        real_(hn::Set(Lanes<T>(), factor.real())),
        imaginary_(alternating<T>(-factor.imag(), factor.imag())) {}
  [[nodiscard]] HWY_INLINE Vector<T> times(Vector<T> z) const {
    const Vector<T> product = hn::Mul(real_, z);
    return is_real_ ? product : hn::MulAdd(imaginary_, hn::Reverse2(Lanes<T>(), z), product);
  }
  [[nodiscard]] HWY_INLINE Vector<T> times_plus(Vector<T> z, Vector<T> sum) const {
    const Vector<T> product = hn::MulAdd(real_, z, sum);
    return is_real_ ? product : hn::MulAdd(imaginary_, hn::Reverse2(Lanes<T>(), z), product);
  }

 private:
  bool is_real_;
  Vector<T> real_;
  Vector<T> imaginary_;
};

/// C <- alpha * sums + beta * C for one row of `count` numbers.
template <class T>
HWY_NOINLINE void add_complex_row(const T* sums, T* c, std::int64_t count, std::complex<T> alpha,
                                  std::complex<T> beta) {
  const Lanes<T> d;
  const ComplexFactor<T> of_sum(alpha);
  const ComplexFactor<T> of_c(beta);
  const bool reads_c = beta != std::complex<T>(0);
  std::int64_t j = 0;
  for (; j + lane_count<T> <= count; j += lane_count<T>) {
    const Vector<T> sum = hn::LoadU(d, sums + j);
    hn::StoreU(reads_c ? of_sum.times_plus(sum, of_c.times(hn::LoadU(d, c + j))) : of_sum.times(sum), d, c + j);
  }
  if (j == count) return;
  const auto mask = first_lanes(d, static_cast<std::size_t>(count - j));
  const Vector<T> sum = load_first(mask, d, sums + j);
  store_first(reads_c ? of_sum.times_plus(sum, of_c.times(load_first(mask, d, c + j))) : of_sum.times(sum), mask, d,
              c + j);
}

/// What of add_sums() in highway_stream.hpp is complex.
template <class T>
void add_complex_sums(const std::complex<T>* sums, std::complex<T>* c, std::int64_t columns, std::complex<T> alpha,
                      std::complex<T> beta) {
  add_complex_row(reinterpret_cast<const T*>(sums), reinterpret_cast<T*>(c), 2 * columns, alpha, beta);
}

/// A's real parts' sums are in even rows, its imaginary parts' in odd ones. A conj(B) is the conjugate of conj(A) B.
template <class T, int Rows, int Vectors, bool Masked>
HWY_INLINE void update_complex(Vector<T> (&sums)[Rows][Vectors], const TileShape& shape, T* c, std::complex<T> alpha,
                               std::complex<T> beta) {
  const Lanes<T> d;
  constexpr int lanes = lane_count<T>;
  const T sign = shape.conjugates_a != shape.conjugates_b ? T(1) : T(-1);
  const Vector<T> signs = alternating<T>(sign, -sign);
  const Vector<T> conjugates = alternating<T>(T(1), T(-1));
  const auto joined = [&](int i, int v) __attribute__((always_inline)) {
    const Vector<T> z = hn::MulAdd(signs, hn::Reverse2(d, sums[i + 1][v]), sums[i][v]);
    return shape.conjugates_b ? hn::Mul(conjugates, z) : z;
  };
  // What add_complex_row() comes to for whole vectors and real factors, which is most tiles: masked stores of AVX2 cost
  // more than the sums of many terms.
  if (!Masked && alpha.imag() == 0 && beta.imag() == 0) {
    const Vector<T> of_sum = hn::Set(d, alpha.real());
    const Vector<T> of_c = hn::Set(d, beta.real());
    const bool reads_c = beta.real() != 0;
#pragma GCC unroll 32
    for (int i = 0; i < Rows; i += 2, c = row_after(c, shape.c_stride)) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        const Vector<T> z = joined(i, v);
        T* to = c + v * lanes;
        hn::StoreU(reads_c ? hn::MulAdd(of_sum, z, hn::Mul(of_c, hn::LoadU(d, to))) : hn::Mul(of_sum, z), d, to);
      }
    }
    return;
  }
  alignas(64) T rows[Rows / 2][Vectors * lanes];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; i += 2) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) hn::Store(joined(i, v), d, rows[i / 2] + v * lanes);
  }
  const std::int64_t width = Masked ? (Vectors - 1) * lanes + shape.last_lanes : Vectors * lanes;
  for (int i = 0; i < Rows / 2; ++i, c += shape.c_stride) add_complex_row(rows[i], c, width, alpha, beta);
}

}  // namespace exactile::cpu::HWY_NAMESPACE
