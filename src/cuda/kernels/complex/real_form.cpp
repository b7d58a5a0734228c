// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/complex/real_form.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "plan/column_major.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::complex_family {
namespace {

constexpr std::int64_t sector = 32;  // bytes; rows begin there

GemmDescription oriented(const GemmDescription& d, bool is_transposed) {
  return is_transposed ? plan::transposed(d) : d;
}

bool must_copy_a(const GemmDescription& d) { return d.k > 1 && d.a.column_stride != 1; }

/// Whether TMA finds B as it lies, each row of complex numbers contiguous.
bool has_rows(const GemmDescription& d) {
  constexpr std::int64_t most = std::int64_t{1} << 32;  // TMA takes strides below 2^40 bytes
  return !d.b.pointer_array && (d.n == 1 || d.b.column_stride == 1) &&
         (d.k == 1 || (d.b.row_stride > 0 && d.b.row_stride < most)) &&
         (d.batch_count == 1 || (d.b.batch_stride >= 0 && d.b.batch_stride < most));
}

std::int64_t pitch_of(const GemmDescription& d) { return core::round_up(d.n, sector / size_in_bytes(d.types.input)); }

/// A matrix of complex numbers with contiguous rows of `columns`, as real numbers.
OperandLayout as_real(const OperandLayout& layout, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  return {.row_stride = 2 * (rows > 1 ? layout.row_stride : columns),
          .column_stride = 1,
          .batch_stride = batch > 1 && !layout.pointer_array ? 2 * layout.batch_stride : 0,
          .pointer_array = layout.pointer_array};
}

/// That an oriented product may need in the workspace, counted so that nothing overflows.
double elements(const GemmDescription& d) {
  const auto k = static_cast<double>(d.k), pitch = static_cast<double>(pitch_of(d));
  const auto products = [&](const OperandLayout& layout) {
    return static_cast<double>(plan::distinct_matrices(layout, d.batch_count));
  };
  const double of_a = must_copy_a(d) ? products(d.a) * static_cast<double>(d.m) * (k + 4) : 0;
  return 2 * products(d.b) * k * pitch + of_a + static_cast<double>(d.batch_count) * static_cast<double>(d.m) * pitch;
}

}  // namespace

bool is_transposed_for(const GemmDescription& description, Expansion expansion) {
  GemmDescription one = description;  // bits do not depend on how many there are
  one.batch_count = 1;
  const auto bytes = [&](bool is_transposed) { return RealForm(one, expansion, is_transposed).passes().copied_bytes; };
  const bool by_columns = plan::is_column_major(description);
  constexpr std::int64_t few = 8;  // of so many rows or columns, the order of sums is their own everywhere
  if (expansion == Expansion::before || std::min(description.m, description.n) > few) return by_columns;
  return bytes(!by_columns) < bytes(by_columns) ? !by_columns : by_columns;
}

RealForm::RealForm(const GemmDescription& description, Expansion expansion, bool transposed)
    : is_transposed(transposed),
      d(oriented(description, transposed)),
      expands(expansion == Expansion::before),
      copies_a(must_copy_a(d)),
      copies_b(!expands && !has_rows(d)),
      reaches_c((d.c.column_stride == 1 || d.n == 1) && d.bias != Bias::per_row),
      pitch(pitch_of(d)) {
  const ElementType real = d.types.input == ElementType::cf64 ? ElementType::f64 : ElementType::f32;
  const bool shares_b = plan::distinct_matrices(d.b, d.batch_count) == 1;
  to_c = {.types = {real, real},
          .m = d.m,
          .n = 2 * d.n,
          .k = 2 * d.k,
          .a = as_real(copies_a ? plan::transposed(copy_of_a().layout()) : d.a, d.m, d.k, d.batch_count),
          .b = {.row_stride = 2 * pitch, .column_stride = 1, .batch_stride = shares_b ? 0 : 4 * d.k * pitch},
          .c = as_real(d.c, d.m, d.n, d.batch_count),
          .batch_count = d.batch_count,
          .bias = d.bias};
  if (!expands) {
    to_c.b = as_real(copies_b ? plan::transposed(copy_of_b().layout()) : d.b, d.k, d.n, d.batch_count);
    to_c.a.conjugate = d.a.conjugate;
    to_c.b.conjugate = d.b.conjugate;
  }
  to_sums = to_c;
  to_sums.bias = Bias::none;
  to_sums.c = {.row_stride = 2 * pitch, .column_stride = 1, .batch_stride = 2 * d.m * pitch};
}

TransposedCopy RealForm::copy_of_a() const {
  return {.rows = d.k,
          .columns = d.m,
          .from = plan::transposed(d.a),
          .type = d.types.input,
          .pitch = core::round_up(d.k, sector / size_in_bytes(d.types.input)),
          .copy_rows = d.m};
}

TransposedCopy RealForm::copy_of_b() const {
  return {.rows = d.n,
          .columns = d.k,
          .from = plan::transposed(d.b),
          .type = d.types.input,
          .pitch = pitch,
          .copy_rows = d.k};
}

std::int64_t RealForm::b_bytes() const {
  const std::int64_t once = plan::distinct_matrices(d.b, d.batch_count) * copy_of_b().product_bytes();
  return expands ? 2 * once : copies_b ? once : 0;
}

std::int64_t RealForm::a_bytes() const {
  return copies_a ? plan::distinct_matrices(d.a, d.batch_count) * copy_of_a().product_bytes() : 0;
}

std::int64_t RealForm::sums_bytes() const { return d.batch_count * d.m * pitch * size_in_bytes(d.types.input); }

Demand RealForm::passes() const {
  // Tiles of so large elements are whole lines in both directions: what turns them is no slower. Sums are not turned by
  // tiles: a C across them is written by elements, half sectors that are read before.
  const double of_sums = reaches_c ? 0 : d.c.column_stride == 1 || d.n == 1 ? 2 : 4;
  return {.copied_bytes = (expands ? 1.5 : 2) * static_cast<double>(b_bytes()) + 2 * static_cast<double>(a_bytes()) +
                          of_sums * static_cast<double>(sums_bytes()),
          .side_kernels = (expands || copies_b ? 1 : 0) + (copies_a ? 1 : 0) + (reaches_c ? 0 : 1)};
}

std::string_view why_too_large(const GemmDescription& description, Expansion expansion, const Device& device) {
  constexpr double most_rows = (1 << 30) - 1;
  const auto m = static_cast<double>(description.m), n = static_cast<double>(description.n);
  const auto k = static_cast<double>(description.k);
  if (m > most_rows || n > most_rows || k > most_rows) return "needs m, n and k to be below 2^30";
  constexpr double tile = 32;  // of the passes
  const double tiles = (k / tile + 1) * (std::max(m, n) / tile + 1);
  if (tiles > 0x7fffffff) return "A or B has more tiles than one grid has blocks";
  constexpr double countable = 1e15;  // in 64 bits, several times over
  const double most =
      0.4 * static_cast<double>(device.memory_bytes) / static_cast<double>(size_in_bytes(description.types.input));
  const bool are_countable =
      std::max(elements(oriented(description, false)), elements(oriented(description, true))) < countable;
  if (!are_countable || elements(oriented(description, is_transposed_for(description, expansion))) > most)
    return "needs more memory for its operands as real matrices than there is";
  return "";
}

}  // namespace exactile::cuda::complex_family
