// SPDX-License-Identifier: Apache-2.0
#include "cpu/small/vector_roles.hpp"

#include <algorithm>

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
  r.across = r.lines > most_vectors_at_once && (r.w_term_stride != 1 || r.terms == 1) && r.w_line_stride == 1;
  return r;
}

}  // namespace

VectorRoles vector_roles(const GemmDescription& d) {
  if (std::max(d.m, d.n) > most_vectors_at_once) return roles(d, d.m > d.n);
  const bool a_is_along = d.a.column_stride == 1;
  const bool b_is_along = d.b.row_stride == 1;
  return roles(d, a_is_along == b_is_along ? d.m > d.n : a_is_along);
}

}  // namespace exactile::cpu
