// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/vector_roles.hpp"

#include <algorithm>

#include "cpu/isa.hpp"

namespace exactile::cpu {
namespace {

VectorRoles roles(const GemmDescription& d, bool w_is_a) {
  VectorRoles r{.w_is_a = w_is_a, .terms = d.k};
  if (w_is_a) {
    r.vectors = d.n;
    r.lines = d.m;
    r.w_line_stride = d.a.row_stride;
    r.w_term_stride = d.a.column_stride;
    r.x_vector_stride = d.b.column_stride;
    r.x_term_stride = d.b.row_stride;
    r.c_line_stride = d.c.row_stride;
    r.c_vector_stride = d.c.column_stride;
  } else {
    r.vectors = d.m;
    r.lines = d.n;
    r.w_line_stride = d.b.column_stride;
    r.w_term_stride = d.b.row_stride;
    r.x_vector_stride = d.a.row_stride;
    r.x_term_stride = d.a.column_stride;
    r.c_line_stride = d.c.column_stride;
    r.c_vector_stride = d.c.row_stride;
  }
  r.across = r.lines > most_vectors_at_once && r.w_term_stride != 1 && r.w_line_stride == 1;
  return r;
}

}  // namespace

VectorRoles vector_roles(const GemmDescription& d) {
  if (std::max(d.m, d.n) > most_vectors_at_once) return roles(d, d.m > d.n);
  const bool a_is_along = d.a.column_stride == 1;
  const bool b_is_along = d.b.row_stride == 1;
  return roles(d, a_is_along == b_is_along ? d.m > d.n : a_is_along);
}

bool sums_as_vectors(const GemmDescription& d) {
  if (std::min(d.m, d.n) > most_vectors_at_once || widest_isa() == Isa::portable) return false;
  if (d.types.input == ElementType::i32 && d.types.output == ElementType::i64) return false;  // has no such kernels
  const VectorRoles r = vector_roles(d);
  // Shorter sums leave lanes without terms, and smaller products are over before vectors are at hand.
  constexpr std::int64_t least_terms = held_padding;
  constexpr std::int64_t least_across = 1 << 14;
  if (r.across) return r.terms >= std::max(least_terms, least_across / r.lines);
  // Each vector's sums are folded for themselves.
  const bool is_small = r.lines <= most_vectors_at_once;
  // So small a product is over before strided vectors are at hand, unless they must be packed in any case.
  if (is_small && r.vectors > 1 && r.x_term_stride != 1 && d.types.input == accumulator_type(d.types.input))
    return false;
  return r.terms >= std::max(least_terms, least_terms * r.vectors / (is_small ? 1 : 2));
}

bool sums_as_all_kernels(const GemmDescription& d) {
  if (std::min(d.m, d.n) > most_vectors_at_once) return false;
  if (!is_floating(d.types.input)) return true;  // exact in any order
  const bool shares_chunks = d.types.input == ElementType::f32 || d.types.input == ElementType::f64;
  return shares_chunks && vector_roles(d).across;
}

bool sums_in_tiles(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  constexpr std::int64_t side = 16;  // of a tile
  return d.types.input == ElementType::bf16 && !problem.reproducible && std::min(d.m, d.n) >= side && d.k >= 2 * side &&
         why_unavailable(Isa::amx).empty();
}

std::string_view gives_way_to_vectors(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  return !problem.reproducible && sums_as_vectors(d) && !sums_as_all_kernels(d)
             ? "the bits of so few rows or columns are those of the vector kernels"
             : std::string_view();
}

}  // namespace exactile::cpu
