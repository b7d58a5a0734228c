// SPDX-License-Identifier: Apache-2.0
// Small tiles pack a B that cannot be copied by vectors, where that is estimated to pay: the walk's products are too
// small for it.
#include "cuda/runtime/device.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

using verification::Case;

constexpr Shape shapes[] = {{700, 257, 520}, {1001, 130, 2000}, {513, 513, 513}};

Case on_device(const char* kernel, ElementType type, const Shape& s) {
  Case test = contiguous_case({type, type}, s.m, s.n, s.k);
  test.options = {.backend = "cuda", .kernel = kernel, .memory = Memory::device};
  return test;
}

/// Whether it pays is told for an H200; what is right must be so wherever the kernel runs.
void expect_packed_and_right(const Case& test, const char* what) {
  constexpr int hopper = 90;
  const Result<Plan> plan = Plan::make(test.description, test.options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  if (cuda::devices().front().compute_capability == hopper) {
    EXPECT_NE(plan.value().summary().blocking.find(what), std::string::npos)
        << plan.value().summary().blocking << "\n  " << verification::reproducer(test);
  }
  EXPECT_EQ(check_case(test), Outcome::passed);
}

/// B that vectors do not reach: rows of odd length, padded, backwards, one row for all terms, one element in two.
void check_layouts_of_b(const char* kernel, ElementType type) {
  for (const Shape& s : shapes)
    for (const OperandLayout& b : {OperandLayout{s.n, 1}, OperandLayout{s.n + 7, 1}, OperandLayout{-s.n, 1},
                                   OperandLayout{s.n, -1}, OperandLayout{0, 1}, OperandLayout{2 * s.n + 1, 2}}) {
      Case test = on_device(kernel, type, s);
      test.description.b = b;
      test.seed = static_cast<std::uint64_t>(s.m + b.row_stride);
      expect_packed_and_right(test, "packs B");
    }
}

/// A C by columns turns the product, so that it is the caller's A that is packed.
void check_turned(const char* kernel, ElementType type) {
  for (const Shape& s : shapes) {
    Case test = on_device(kernel, type, {s.n, s.m, s.k});
    test.description.a = {1, s.n};
    test.description.b = {1, s.k};
    test.description.c = {1, s.n};
    test.beta = 2;
    expect_packed_and_right(test, "packs A");
  }
}

void check_epilogues(const char* kernel, ElementType type, Activation activation) {
  for (const Shape& s : shapes) {
    Case test = on_device(kernel, type, s);
    test.description.bias = Bias::per_column;
    test.description.activation = activation;
    test.alpha = -3;
    test.beta = 2;
    expect_packed_and_right(test, "packs B");
    test.fill = type == ElementType::f32 ? verification::Fill::special_values : verification::Fill::small_integers;
    expect_packed_and_right(test, "packs B");
  }
}

void check(const char* kernel, ElementType type, Activation activation) {
  check_layouts_of_b(kernel, type);
  check_turned(kernel, type);
  check_epilogues(kernel, type, activation);
}

TEST(PackedB, IsRightInF32) {
  SKIP_WITHOUT_GPU();
  check("simt_f32_32x32", ElementType::f32, Activation::gelu);
}

TEST(PackedB, IsRightInI32) {
  SKIP_WITHOUT_GPU();
  check("simt_i32_32x32", ElementType::i32, Activation::relu);
}

}  // namespace
}  // namespace exactile::test
