// SPDX-License-Identifier: Apache-2.0
// Operands that cannot be copied by vectors may be packed first: PACK=1.
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

using verification::Case;

constexpr Shape shapes[] = {{700, 257, 520}, {1001, 130, 2000}, {513, 513, 513}};

struct Tile {
  const char* kernel;
  const char* parameters;
};

Case on_device(const Tile& tile, ElementType type, const Shape& s) {
  Case test = contiguous_case({type, type}, s.m, s.n, s.k);
  test.options = {
      .backend = Backend::cuda, .kernel = tile.kernel, .memory = Memory::device, .parameters = tile.parameters};
  return test;
}

void expect_packed_and_right(const Case& test) {
  const Result<Plan> plan = Plan::make(test.description, test.options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_NE(plan.value().summary().blocking.find("PACK=1"), std::string::npos) << plan.value().summary().blocking;
  EXPECT_EQ(check_case(test), Outcome::passed) << verification::reproducer(test);
}

/// B that vectors do not reach: rows of odd length, padded, backwards, one row for all terms, one element in two.
void check_layouts_of_b(const Tile& tile, ElementType type) {
  for (const Shape& s : shapes)
    for (const OperandLayout& b : {OperandLayout{s.n, 1}, OperandLayout{s.n + 7, 1}, OperandLayout{-s.n, 1},
                                   OperandLayout{s.n, -1}, OperandLayout{0, 1}, OperandLayout{2 * s.n + 1, 2}}) {
      Case test = on_device(tile, type, s);
      test.description.b = b;
      test.seed = static_cast<std::uint64_t>(s.m + b.row_stride);
      expect_packed_and_right(test);
    }
}

/// A C by columns turns the product, so that it is the caller's A that is packed.
void check_turned(const Tile& tile, ElementType type) {
  for (const Shape& s : shapes) {
    Case test = on_device(tile, type, {s.n, s.m, s.k});
    test.description.a = {1, s.n};
    test.description.b = {1, s.k};
    test.description.c = {1, s.n};
    test.beta = 2;
    expect_packed_and_right(test);
  }
}

void check_epilogues(const Tile& tile, ElementType type, Activation activation) {
  for (const Shape& s : shapes) {
    Case test = on_device(tile, type, s);
    test.description.bias = Bias::per_column;
    test.description.activation = activation;
    test.alpha = -3;
    test.beta = 2;
    expect_packed_and_right(test);
    test.fill = type == ElementType::f32 ? verification::Fill::special_values : verification::Fill::small_integers;
    expect_packed_and_right(test);
  }
}

void check(const Tile& tile, ElementType type, Activation activation) {
  check_layouts_of_b(tile, type);
  check_turned(tile, type);
  check_epilogues(tile, type, activation);
}

TEST(PackedB, IsRightInF32) {
  SKIP_WITHOUT_GPU();
  check({"simt_f32", "BM=32 BN=32 PACK=1"}, ElementType::f32, Activation::gelu);
  check({"simt_f32", "BM=128 BN=128 PACK=1"}, ElementType::f32, Activation::gelu);
}

TEST(PackedB, IsRightInI32) {
  SKIP_WITHOUT_GPU();
  check({"simt_integer", "BM=32 BN=32 PACK=1"}, ElementType::i32, Activation::relu);
}

}  // namespace
}  // namespace exactile::test
