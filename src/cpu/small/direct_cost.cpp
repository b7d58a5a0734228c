// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/checked.hpp"
#include "cpu/caches.hpp"
#include "cpu/loops/kinds.hpp"
#include "cpu/loops/rates.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/small/direct.hpp"
#include "cpu/small/in_place.hpp"

namespace exactile::cpu {
namespace {

constexpr double page_seconds = 0.13e-9;  ///< per byte of an A that is read a line or two of each page at a time
constexpr double l2_seconds = 2.5e-9;     ///< until a line that is not in L1 has come from L2

/// The wait for a panel's row, a line or so, where rows displace one another: strides with a large power of two meet
/// few of L1's sets, whose lines of one way are a page apart. Where all rows meet one set each is waited for; measured,
/// the wait falls with the square of the sets' number, as fetches overlap.
double displaced_row_seconds(std::int64_t rows, std::int64_t row_bytes, std::int64_t stride_bytes) {
  constexpr std::int64_t way_bytes = 4096;
  const std::int64_t step = std::gcd(stride_bytes, way_bytes);
  if (rows <= caches().l1 / std::max(step, row_bytes)) return 0;
  const double share = static_cast<double>(step) / static_cast<double>(way_bytes);
  return l2_seconds * share * share;
}

}  // namespace

std::string_view direct_refuses(const plan::Problem& problem) {
  const Orientation o = preferred_orientation(problem.description);
  if (!c_is_row_contiguous(o)) return "C has neither unit row stride nor unit column stride";
  if (o.b.column_stride != 1 && o.n != 1)
    return o.exchanged ? "A's rows are not neighbours" : "B's columns are not neighbours";
  if (!a_by_rows(o) && !a_by_columns(o)) return "one operand has no unit stride";
  return {};
}

template <class T>
double direct_cost(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const double b_bytes = bytes_of(o.k, o.n, sizeof(T));
  const double row_tiles = static_cast<double>(core::ceil_divide(o.m, kernels.rows));
  const double padded = static_cast<double>(core::round_up(o.n, kernels.lanes)) / static_cast<double>(o.n);
  const auto m = static_cast<double>(o.m);
  const auto n = static_cast<double>(o.n);
  const auto k = static_cast<double>(o.k);
  const double arithmetic = m * n * k * padded / terms_per_second(kernels);
  // What does not stay in L2 is fetched again: a panel of B for every tile of rows, A for every panel.
  const double l2_share = static_cast<double>(caches().l2) / 2;
  const std::int64_t width = kernels.vectors * kernels.lanes;
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const double b_reads = bytes_of(o.k, width, size) <= l2_share ? 1 : row_tiles;
  const double a_reads = bytes_of(o.m, o.k, size) <= l2_share ? 1 : static_cast<double>(core::ceil_divide(o.n, width));
  const double again = static_cast<double>(size) * (m * k * (a_reads - 1) + k * n * (b_reads - 1));
  // B is read down its columns, a few lines of each row, and nothing asks for them ahead.
  const double memory = b_bytes <= l2_share ? 0 : 2 * first_reads(m, n, k, size) + again / bytes_per_second / 4;
  // The packed loops' wide tiles read less.
  const double from_l2 = wide_tiles_compete(kernels, o.m, o.n, o.k) ? 1.10 : 1.06;
  double nearness = b_bytes <= static_cast<double>(caches().l1) ? 1.02 : from_l2;
  // One vector of columns leaves few multiply-adds to each element of A, which is then waited for.
  if (o.n <= kernels.lanes && a_streams(o, size)) nearness = 2;
  // Each term of a tile is on a page of its own, of which little is used before it is gone, once for every panel.
  const bool turns_pages = o.n > kernels.lanes && a_streams(o, size) && !a_by_rows(o);
  const double pages = turns_pages ? static_cast<double>(size) * m * k * a_reads * page_seconds : 0;
  const double displaced = row_tiles * k * static_cast<double>(core::ceil_divide(o.n, width)) *
                           displaced_row_seconds(o.k, width * size, o.b.row_stride * size);
  const auto products = static_cast<double>(problem.description.batch_count);
  const std::int64_t parts = std::max(problem.description.batch_count, core::ceil_divide(o.m, kernels.rows));
  const int threads = useful_threads(m * n * k * products, parts, problem.threads);
  return (arithmetic * nearness + memory + pages + displaced + 10e-9) * products / threads;
}

#define EXACTILE_COST(...) template double direct_cost(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_PLAIN_KIND(EXACTILE_COST)

}  // namespace exactile::cpu
