// SPDX-License-Identifier: Apache-2.0
#include "draw.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace exactile::bench {
namespace {

/// The standard's engines give the same numbers everywhere, its distributions do not.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}

  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  ///< [0, 1)
  std::int64_t size(Sizes sizes) {
    const double least = std::log2(static_cast<double>(sizes.least));
    const double most = std::log2(static_cast<double>(sizes.most));
    return std::llround(std::exp2(least + unit() * (most - least)));
  }

 private:
  std::mt19937_64 engine_;
};

std::int64_t rounded(std::int64_t size, std::int64_t unit) {
  return size < unit ? size : (size + unit / 2) / unit * unit;
}

struct Drawn {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
  [[nodiscard]] double terms() const {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

Drawn draw(Draws& draws, const Population& population) {
  const double alignment = draws.unit();
  const std::int64_t unit = alignment < 0.45 ? 64 : alignment < 0.75 ? 8 : 1;
  const std::int64_t m = rounded(draws.size(population.m), unit);
  const std::int64_t n = rounded(draws.size(population.n), unit);
  const std::int64_t k = rounded(draws.size(population.k), unit);
  const bool b_transposed = draws.unit() < 0.5;
  return {m, n, k, draws.unit() < 0.2, b_transposed};
}

Product product_of(const Drawn& drawn, GemmTypes types) {
  const auto layout = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? Layout{.rows = columns, .leading = rows, .transposed = true}
                      : Layout{.rows = rows, .leading = columns};
  };
  return {.type = types.input,
          .output = types.output,
          .m = drawn.m,
          .n = drawn.n,
          .k = drawn.k,
          .a = layout(drawn.m, drawn.k, drawn.a_transposed),
          .b = layout(drawn.k, drawn.n, drawn.b_transposed),
          .c = layout(drawn.m, drawn.n, false),
          .type_b = types.input_b};
}

}  // namespace

std::vector<Product> draw_products(const Population& population, GemmTypes types) {
  constexpr int most_tries = 10000;
  Draws draws(population.seed);
  std::vector<Product> products;
  for (int tries = 0; static_cast<int>(products.size()) < population.count; ++tries) {
    if (tries == most_tries) throw std::runtime_error("the ranges of m, n and k hold few products of so few terms");
    const Drawn drawn = draw(draws, population);
    if (drawn.terms() > population.most_terms) continue;
    products.push_back(product_of(drawn, types));
    tries = 0;
  }
  return products;
}

}  // namespace exactile::bench
