// SPDX-License-Identifier: Apache-2.0
// The kernels of triangular_kernel.hpp for vectors of EXACTILE_VECTOR_BYTES, in namespace EXACTILE_VECTOR_ISA. Included
// by one file an instruction set, which is compiled for it: nothing here may be shared with other files.
#include <utility>

#include "blas/triangular_kernel.hpp"
namespace exactile::blas::EXACTILE_VECTOR_ISA {
namespace {
constexpr Size vectors = 2;  ///< a row of the panel

template <class R>
struct VectorOf {
  typedef R type __attribute__((vector_size(EXACTILE_VECTOR_BYTES)));
  using Mask [[maybe_unused]] = std::conditional_t<sizeof(R) == 4, std::int32_t, std::int64_t>;
  typedef Mask mask __attribute__((vector_size(EXACTILE_VECTOR_BYTES)));
};
template <class R>
using Vector = typename VectorOf<R>::type;
template <class R>
constexpr Size lanes = EXACTILE_VECTOR_BYTES / sizeof(R);
template <class R>
constexpr Size width = vectors* lanes<R>;
template <class T>
constexpr Size parts = is_complex_v<T> ? 2 : 1;
template <class R>
inline Vector<R> load(const R* from) {
  Vector<R> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class R>
inline void store(Vector<R> v, R* to) {
  __builtin_memcpy(to, &v, sizeof v);
}

/// Lane k of the answer is lane Lane()(k) of a and b side by side. Constants all: else masks would be made in each
/// call.
template <class R, class Lane, int... K>
inline Vector<R> shuffled(Vector<R> a, Vector<R> b, std::integer_sequence<int, K...>) {
  return __builtin_shufflevector(a, b, Lane()(K)...);
}
template <class R, class Lane>
inline Vector<R> shuffled(Vector<R> a, Vector<R> b, Lane) {
  return shuffled<R, Lane>(a, b, std::make_integer_sequence<int, lanes<R>>());
}

/// Rows become columns: in stage d, blocks of d x d off the diagonal change places.
template <class R, Size d = 1>
inline void transpose(Vector<R> (&rows)[lanes<R>]) {
#pragma GCC unroll 16
  for (Size i = 0; i < lanes<R>; ++i) {
    if ((i & d) != 0) continue;
    const Vector<R> a = rows[i];
    const Vector<R> b = rows[i + d];
    rows[i] = shuffled<R>(a, b, [](Size k) { return (k & d) != 0 ? lanes<R> + k - d : k; });
    rows[i + d] = shuffled<R>(a, b, [](Size k) { return (k & d) != 0 ? lanes<R> + k : k + d; });
  }
  if constexpr (2 * d < lanes<R>) transpose<R, 2 * d>(rows);
}

/// Where the panel has number `r` of a vector; a complex number is two.
template <class T>
inline Size row_of(const TriangleProblem<T>& p, Size r) {
  if (!p.backwards) return r;
  return parts<T> * (p.order - 1 - r / parts<T>)+r % parts<T>;
}

/// The panel's rows first .. first + lanes from or to columns of B, `rows` numbers each of them in this stretch.
template <bool to_panel, class T, class R>
inline void move_tile(const TriangleProblem<T>& p, Size first, R* b, Size ld, R* panel) {
  Vector<R> tile[lanes<R>];
#pragma GCC unroll 16
  for (Size k = 0; k < lanes<R>; ++k)
    tile[k] = to_panel ? load(b + k * ld) : load(panel + row_of(p, first + k) * width<R>);
  transpose<R>(tile);
#pragma GCC unroll 16
  for (Size k = 0; k < lanes<R>; ++k)
    store<R>(tile[k], to_panel ? panel + row_of(p, first + k) * width<R> : b + k * ld);
}

template <bool to_panel, class T, class R>
void move_columns(const TriangleProblem<T>& p, R* b, Size ld, Size count, R* panel) {
  const Size rows = parts<T> * p.order;
  for (Size j = 0; j < count; j += lanes<R>) {
    Size first = 0;
    if (count - j >= lanes<R>)
      for (; first + lanes<R> <= rows; first += lanes<R>)
        move_tile<to_panel>(p, first, b + first + j * ld, ld, panel + j);
    for (; first < rows; ++first) {
      R* row = panel + row_of(p, first) * width<R>;
      for (Size k = j; k < count && k < j + lanes<R>; ++k)
        if (to_panel)
          row[k] = b[first + k * ld];
        else
          b[first + k * ld] = row[k];
    }
  }
}

/// A full row of the panel from or to as many numbers of a column of B.
template <bool to_panel, class R>
inline void move_row(R* b, R* row) {
  for (Size v = 0; v < width<R>; v += lanes<R>)
    if (to_panel)
      store<R>(load(b + v), row + v);
    else
      store<R>(load(row + v), b + v);
}
/// The same of complex numbers: two rows.
template <bool to_panel, class R>
inline void move_pairs(R* b, R* row) {
  for (Size v = 0; v < width<R>; v += lanes<R>) {
    const Vector<R> one = load(to_panel ? b + 2 * v : row + v);
    const Vector<R> other = load(to_panel ? b + 2 * v + lanes<R> : row + width<R> + v);
    const Vector<R> first = shuffled<R>(one, other, [](Size k) { return to_panel ? 2 * k : k / 2 + k % 2 * lanes<R>; });
    const Vector<R> second =
        shuffled<R>(one, other, [](Size k) { return to_panel ? 2 * k + 1 : (k + lanes<R>) / 2 + k % 2 * lanes<R>; });
    store<R>(first, to_panel ? row + v : b + 2 * v);
    store<R>(second, to_panel ? row + width<R> + v : b + 2 * v + lanes<R>);
  }
}

/// Vectors that are rows of B: a column of B is one row of the panel, or two.
template <bool to_panel, class T, class R>
void move_rows(const TriangleProblem<T>& p, R* b, Size ld, Size count, R* panel) {
  for (Size i = 0; i < p.order; ++i, b += ld) {
    R* row = panel + row_of(p, parts<T> * i) * width<R>;
    if (count == width<R>) {
      if constexpr (parts<T> == 2)
        move_pairs<to_panel>(b, row);
      else
        move_row<to_panel>(b, row);
      continue;
    }
    for (Size k = 0; k < count; ++k)
      for (Size part = 0; part < parts<T>; ++part)
        if (to_panel)
          row[part * width<R> + k] = b[parts<T> * k + part];
        else
          b[parts<T> * k + part] = row[part * width<R> + k];
  }
}

template <Task task, class R>
void run_rows(const R* triangle, Size order, R* panel) {
  for (Size turn = 0; turn < order; turn += row_group) {
    const Size first = task == Task::solve ? turn : order - row_group - turn;
    const R* t = triangle + first * block_order;
    R* own = panel + first * width<R>;
    Vector<R> sums[row_group][vectors] = {};
    if (task == Task::solve)
      for (Size r = 0; r < row_group; ++r)
        for (Size v = 0; v < vectors; ++v) sums[r][v] = load(own + r * width<R> + v * lanes<R>);
    const auto add = [&](Size r, Size p, const Vector<R>(&x)[vectors]) __attribute__((always_inline)) {
      const R factor = t[r * block_order + p];
      for (Size v = 0; v < vectors; ++v) sums[r][v] += factor * x[v];
    };
    for (Size p = 0; p < first; ++p) {
      const Vector<R> x[vectors] = {load(panel + p * width<R>), load(panel + p * width<R> + lanes<R>)};
#pragma GCC unroll 4
      for (Size r = 0; r < row_group; ++r) add(r, p, x);
    }
#pragma GCC unroll 4
    for (Size r = 0; r < row_group; ++r) {
      for (Size s = 0; s < r; ++s)
        if (task == Task::solve)
          add(r, first + s, sums[s]);
        else
          add(r, first + s, {load(own + s * width<R>), load(own + s * width<R> + lanes<R>)});
      const R diagonal = t[r * block_order + first + r];
      for (Size v = 0; v < vectors; ++v)
        sums[r][v] = task == Task::solve ? sums[r][v] * diagonal
                                         : sums[r][v] + diagonal * load(own + r * width<R> + v * lanes<R>);
    }
    for (Size r = 0; r < row_group; ++r)
      for (Size v = 0; v < vectors; ++v) store<R>(sums[r][v], own + r * width<R> + v * lanes<R>);
  }
}

/// Complex numbers in the panel: a vector of real parts and one of imaginary parts.
template <class R>
struct Numbers {
  Vector<R> real[vectors];
  Vector<R> imaginary[vectors];
  static inline Numbers at(const R* row) {
    return {{load(row), load(row + lanes<R>)}, {load(row + width<R>), load(row + width<R> + lanes<R>)}};
  }
  inline void put(R* row) const {
    for (Size v = 0; v < vectors; ++v) {
      store<R>(real[v], row + v * lanes<R>);
      store<R>(imaginary[v], row + width<R> + v * lanes<R>);
    }
  }
  inline void add(R factor_real, R factor_imaginary, const Numbers& x) {
    for (Size v = 0; v < vectors; ++v) {
      real[v] += factor_real * x.real[v];
      imaginary[v] += factor_real * x.imaginary[v];
      real[v] -= factor_imaginary * x.imaginary[v];
      imaginary[v] += factor_imaginary * x.real[v];
    }
  }
};

template <Task task, class R>
void run_rows(const std::complex<R>* triangle, Size order, R* panel) {
  constexpr Size group = row_group / 2;
  const R* numbers = reinterpret_cast<const R*>(triangle);
  for (Size turn = 0; turn < order; turn += group) {
    const Size first = task == Task::solve ? turn : order - group - turn;
    R* own = panel + first * 2 * width<R>;
    Numbers<R> sums[group] = {};
    if (task == Task::solve)
      for (Size r = 0; r < group; ++r) sums[r] = Numbers<R>::at(own + r * 2 * width<R>);
    const auto add = [&](Size r, Size p, const Numbers<R>& x) __attribute__((always_inline)) {
      const R* factor = numbers + 2 * ((first + r) * block_order + p);
      sums[r].add(factor[0], factor[1], x);
    };
    for (Size p = 0; p < first; ++p) {
      const Numbers<R> x = Numbers<R>::at(panel + p * 2 * width<R>);
#pragma GCC unroll 2
      for (Size r = 0; r < group; ++r) add(r, p, x);
    }
    for (Size r = 0; r < group; ++r) {
      for (Size s = 0; s < r; ++s)
        add(r, first + s, task == Task::solve ? sums[s] : Numbers<R>::at(own + s * 2 * width<R>));
      const Numbers<R> x = task == Task::solve ? sums[r] : Numbers<R>::at(own + r * 2 * width<R>);
      if (task == Task::solve) sums[r] = {};
      add(r, first + r, x);
    }
    for (Size r = 0; r < group; ++r) sums[r].put(own + r * 2 * width<R>);
  }
}

template <class R>
void scale(R alpha, Size numbers, R* panel) {
  if (alpha == R(1)) return;
  for (Size i = 0; i < numbers; ++i) panel[i] *= alpha;
}
template <class R>
void scale(std::complex<R> alpha, Size numbers, R* panel) {
  const auto& [real, imaginary] = reinterpret_cast<const R(&)[2]>(alpha);
  if (real == R(1) && imaginary == R(0)) return;
  for (Size i = 0; i < numbers; i += 2 * width<R>)
    for (Size k = i; k < i + width<R>; ++k) {
      const R x = panel[k];
      const R y = panel[k + width<R>];
      panel[k] = real * x - imaginary * y;
      panel[k + width<R>] = real * y + imaginary * x;
    }
}

/// Infinities and NaN, and these alone, are not 0 when multiplied by it.
template <class R>
bool all_finite(const R* panel, Size numbers) {
  Vector<R> zeros[row_group] = {};
  for (Size i = 0; i < numbers; i += row_group * lanes<R>)
    for (Size r = 0; r < row_group; ++r) zeros[r] += load(panel + i + r * lanes<R>) * R(0);
  for (Size r = 0; r < row_group; ++r)
    for (Size k = 0; k < lanes<R>; ++k)
      if (!(zeros[r][k] == R(0))) return false;
  return true;
}

template <class T>
bool run(const TriangleProblem<T>& p, T* b, Size ld, Size count) {
  using R = Real<T>;
  alignas(64) R panel[block_order * parts<T> * width<R>];
  const Size order = (p.order + row_group - 1) / row_group * row_group;
  const Size numbers = order * parts<T> * width<R>;
  if (count < width<R> || order != p.order)
    for (Size i = 0; i < numbers; ++i) panel[i] = R(0);
  R* at = reinterpret_cast<R*>(b);
  const Size step = parts<T> * ld;
  if (p.by_columns)
    move_columns<true>(p, at, step, count, panel);
  else
    move_rows<true>(p, at, step, count, panel);
  scale(p.alpha, numbers, panel);
  if (p.task == Task::solve)
    run_rows<Task::solve>(p.triangle, order, panel);
  else
    run_rows<Task::multiply>(p.triangle, order, panel);
  if (!all_finite(panel, numbers)) return false;
  if (p.by_columns)
    move_columns<false>(p, at, step, count, panel);
  else
    move_rows<false>(p, at, step, count, panel);
  return true;
}

}  // namespace
template <class T>
TriangleKernel<T> triangle_kernel() {
  return {width<Real<T>>, &run<T>};
}
template TriangleKernel<float> triangle_kernel<float>();
template TriangleKernel<double> triangle_kernel<double>();
template TriangleKernel<std::complex<float>> triangle_kernel<std::complex<float>>();
template TriangleKernel<std::complex<double>> triangle_kernel<std::complex<double>>();

}  // namespace exactile::blas::EXACTILE_VECTOR_ISA
