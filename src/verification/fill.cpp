// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <thread>
#include <vector>

#include "verification/elements.hpp"
#include "verification/verification.hpp"

namespace exactile::verification {
namespace {

constexpr std::array<Fill, 6> all_fills{Fill::normal,     Fill::uniform,    Fill::small_integers,
                                        Fill::wide_range, Fill::cancelling, Fill::special_values};

/// The finalizer of SplitMix64: every bit of the result depends on every bit of x.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// What all elements of one matrix share.
struct Source {
  Fill kind;
  ElementType type;
  Part part;
  std::uint64_t key;  ///< of seed, part and product

  [[nodiscard]] std::uint64_t hash(std::int64_t i, std::int64_t j) const {
    return mix(mix(key ^ static_cast<std::uint64_t>(i)) ^ static_cast<std::uint64_t>(j));
  }
  /// A hash shared by a row of A and C or by a column of B: the index that survives in the product.
  [[nodiscard]] std::uint64_t line_hash(std::int64_t i, std::int64_t j) const {
    return mix(~key ^ static_cast<std::uint64_t>(part == Part::b ? j : i));
  }
};

double unit_interval(std::uint64_t h) { return static_cast<double>(h >> 11) * 0x1p-53; }

double normal_deviate(std::uint64_t h) {
  // Box and Muller; 1 - u keeps the logarithm away from zero.
  const double radius = std::sqrt(-2 * std::log(1 - unit_interval(h)));
  return radius * std::cos(2 * std::numbers::pi * unit_interval(mix(h)));
}

/// 2^e with |e| at most this, so that a product of two still has a good margin to overflow and underflow.
int exponent_reach(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::cf64: return 400;
    case ElementType::f32:
    case ElementType::cf32:
    case ElementType::bf16: return 50;
    case ElementType::f16: return 5;
    default: return 3;
  }
}

double wide_range(const Source& source, std::int64_t i, std::int64_t j, std::uint64_t h) {
  const int reach = exponent_reach(source.type);
  const auto step = source.line_hash(i, j) % static_cast<std::uint64_t>(2 * reach + 1);
  return std::ldexp(normal_deviate(h), static_cast<int>(step) - reach);
}

/// Columns 2q and 2q+1 of A are opposite but for some last bits, rows 2q and 2q+1 of B are equal.
double cancelling(const Source& source, std::int64_t i, std::int64_t j) {
  if (source.part == Part::b) return normal_deviate(source.hash(i & ~std::int64_t{1}, j));
  const double value = normal_deviate(source.hash(i, j & ~std::int64_t{1}));
  if ((j & 1) == 0 || source.part == Part::c) return value;
  const double u = unit_roundoff(source.type);
  return -value * (1 + u * static_cast<double>(source.hash(i, j) % 64));
}

/// A quarter of the elements are zeros, some of them negative, and a sixteenth subnormal. NaN and Inf stand in a
/// quarter of A's rows and B's columns only, so that most of the product stays finite.
double special_value(const Source& source, std::int64_t i, std::int64_t j, std::uint64_t h) {
  const std::uint64_t line = source.line_hash(i, j);
  if (line % 4 == 0 && h % 8 == 0) {
    const bool nan = line % 3 == 0 || (line % 3 == 1 && (h & 8) != 0);
    if (nan) return std::numeric_limits<double>::quiet_NaN();
    const bool has_infinity = source.type != ElementType::f8e4m3;
    const double sign = line % 16 == 0 ? ((h & 16) != 0 ? -1 : 1) : ((line & 32) != 0 ? -1 : 1);
    return sign * (has_infinity ? std::numeric_limits<double>::infinity() : largest_finite(source.type));
  }
  const std::uint64_t choice = (h >> 16) % 16;
  if (choice < 2) return 0.0;
  if (choice < 4) return -0.0;
  if (choice == 4) return smallest_positive(source.type) * static_cast<double>(1 + (h >> 32) % 3);
  return normal_deviate(mix(h));
}

/// {-3, ..., 3}: exact in every element type, and so is every sum of a few hundred thousand products.
double small_integer(std::uint64_t h) { return static_cast<double>((h >> 33) % 7) - 3; }

double real_value(const Source& source, std::int64_t i, std::int64_t j, std::uint64_t h) {
  switch (source.kind) {
    case Fill::normal: return normal_deviate(h);
    case Fill::uniform: return unit_interval(h);
    case Fill::small_integers: return small_integer(h);
    case Fill::wide_range: return wide_range(source, i, j, h);
    case Fill::cancelling: return cancelling(source, i, j);
    case Fill::special_values: break;
  }
  return special_value(source, i, j, h);
}

std::uint64_t integer_value(Fill kind, std::uint64_t h) {
  if (kind == Fill::small_integers) return static_cast<std::uint64_t>(static_cast<std::int64_t>(small_integer(h)));
  if (kind == Fill::wide_range) return h;
  return (h >> 33) % 201 - 100;
}

class Writer {
 public:
  Writer(const Source& source, const OperandLayout& layout, void* base)
      : source_(source), imaginary_(source), layout_(layout), base_(base) {
    imaginary_.key = mix(source.key);
  }

  void write(std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * layout_.row_stride + j * layout_.column_stride;
    const std::uint64_t h = source_.hash(i, j);
    if (!floating_) return store(source_.type, base_, at, integer_value(source_.kind, h));
    const double second = complex_ ? real_value(imaginary_, i, j, imaginary_.hash(i, j)) : 0.0;
    store(source_.type, base_, at, real_value(source_, i, j, h), second);
  }

 private:
  Source source_;
  Source imaginary_;
  OperandLayout layout_;
  void* base_;
  bool floating_ = is_floating(source_.type);
  bool complex_ = is_complex(source_.type);
};

/// Whether lines of `length` elements, `step` apart, lie one behind the other, `stride` apart.
bool lie_apart(std::int64_t stride, std::int64_t step, std::int64_t length) {
  return step > 0 && stride > (length - 1) * step;
}

/// visit(line) of all lines; by several threads where these are many elements and `apart`, as elements do not depend on
/// each other.
template <class Visit>
void for_lines(std::int64_t lines, std::int64_t length, bool apart, const Visit& visit) {
  constexpr std::int64_t elements_worth_a_thread = 1 << 20;
  const std::int64_t most = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t threads = apart ? std::clamp<std::int64_t>(lines * length / elements_worth_a_thread, 1, most) : 1;
  const auto share = [&](std::int64_t t) {
    for (std::int64_t line = t * lines / threads; line < (t + 1) * lines / threads; ++line) visit(line);
  };
  std::vector<std::jthread> helpers;
  for (std::int64_t t = 1; t < threads; ++t) helpers.emplace_back(share, t);
  share(0);
}

void fill_matrix(const Source& source, std::int64_t rows, std::int64_t columns, const OperandLayout& layout,
                 void* base) {
  const Writer writer(source, layout, base);
  if (lie_apart(layout.column_stride, layout.row_stride, rows))
    return for_lines(columns, rows, true, [&](std::int64_t j) {
      for (std::int64_t i = 0; i < rows; ++i) writer.write(i, j);
    });
  for_lines(rows, columns, lie_apart(layout.row_stride, layout.column_stride, columns), [&](std::int64_t i) {
    for (std::int64_t j = 0; j < columns; ++j) writer.write(i, j);
  });
}

}  // namespace

std::string_view to_string(Fill kind) noexcept {
  switch (kind) {
    case Fill::normal: return "normal";
    case Fill::uniform: return "uniform";
    case Fill::small_integers: return "small_integers";
    case Fill::wide_range: return "wide_range";
    case Fill::cancelling: return "cancelling";
    case Fill::special_values: break;
  }
  return "special_values";
}

std::optional<Fill> parse_fill(std::string_view name) noexcept {
  for (const Fill kind : all_fills)
    if (to_string(kind) == name) return kind;
  return std::nullopt;
}

std::vector<Fill> fills_for(ElementType type) {
  if (!is_floating(type)) return {Fill::uniform, Fill::small_integers, Fill::wide_range};
  return {all_fills.begin(), all_fills.end()};
}

void fill(Fill kind, std::uint64_t seed, ElementType type, std::int64_t rows, std::int64_t columns,
          const OperandLayout& layout, std::int64_t count, void* data, Part part) {
  const bool shared = !layout.pointer_array && layout.batch_stride == 0;
  for (std::int64_t p = 0; p < (shared ? std::min<std::int64_t>(count, 1) : count); ++p) {
    const std::uint64_t key = mix(mix(seed ^ (static_cast<std::uint64_t>(part) << 56)) ^ static_cast<std::uint64_t>(p));
    void* base = const_cast<void*>(product_base(layout, type, data, p));
    fill_matrix({kind, type, part, key}, rows, columns, layout, base);
  }
}

}  // namespace exactile::verification
