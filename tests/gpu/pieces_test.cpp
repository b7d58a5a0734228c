// SPDX-License-Identifier: Apache-2.0
// f32 kernels that form their sums in pieces err by the length of those, not by that of a chunk of K.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cuda/tile/summation_order.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t columns = 40, terms = 1100;
constexpr float u = 0x1p-24f;

/// A 1 in each row, and beside it what 1 loses when one of them is added, but not when there are some.
std::vector<float> rows_with_a_one(const std::vector<std::int64_t>& places) {
  std::vector<float> a(places.size() * terms, 0.75f * u);
  for (std::size_t i = 0; i < places.size(); ++i) a[i * terms + static_cast<std::size_t>(places[i])] = 1;
  return a;
}

void expect_short_sums(const std::string& kernel, bool by_columns) {
  SCOPED_TRACE(kernel + (by_columns ? ", B by columns" : ""));
  const std::vector<float> a = rows_with_a_one({0, 37, 520, 1099});
  const std::vector<float> b(columns * terms, 1);
  std::vector<float> c(4 * columns);
  GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, 4, columns, terms).description;
  if (by_columns) d.b = {1, terms};
  const Result<Plan> plan = Plan::make(d, {.backend = "cuda", .kernel = kernel});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Status status = plan.value().run({.a = a.data(), .b = b.data(), .c = c.data()});
  ASSERT_TRUE(status.ok()) << status.message();
  const double sum = 1 + (terms - 1) * 0.75 * u;
  constexpr int piece = std::max(cuda::tile_piece_terms, cuda::few_rows_piece_terms);
  constexpr double roundings = piece + cuda::chunk_terms / cuda::tile_piece_terms + terms / cuda::chunk_terms + 1;
  for (const float element : c) EXPECT_LE(std::abs(element - sum), roundings * u * sum);
}

TEST(PiecesOnDevice, KeepSumsShort) {
  SKIP_WITHOUT_GPU();
  for (const char* kernel : {"simt_f32_32x32", "simt_f32_8x128", "simt_f32_few_rows"})
    for (const bool by_columns : {false, true}) expect_short_sums(kernel, by_columns);
}

}  // namespace
}  // namespace exactile::test
