// SPDX-License-Identifier: Apache-2.0
// Operands prepared once: the same bits, whoever prepares what, and a sentence for every plan that cannot take them.
#include <string>
#include <utility>
#include <vector>

#include "conformance/support.hpp"

namespace exactile::test {
namespace {

/// A kernel's own plan; nothing where it refuses the product.
std::optional<Plan> plan_of(const GemmDescription& description, const KernelOfType& kernel) {
  const Result<Plan> plan = Plan::make(description, {.kernel = kernel.kernel});
  if (plan.ok()) return plan.value();
  EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << test_name(kernel) << ": " << plan.status().message();
  return std::nullopt;
}

PreparedOperand prepared(const Plan& plan, Operand operand, const void* elements) {
  Result<PreparedOperand> made = plan.prepare(operand, elements);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

/// A run with prepared operands leaves the bits of one without; `scales` has those of the description.
void expect_same_bits(const GemmDescription& d, const GemmArguments& scales, const KernelOfType& kernel) {
  const std::optional<Plan> plan = plan_of(d, kernel);
  if (!plan) return;
  Matrices matrices(d, 1);
  GemmArguments plain = matrices.arguments();
  plain.row_scales = scales.row_scales;
  plain.column_scales = scales.column_scales;
  ASSERT_TRUE(plan->run(plain).ok());
  const std::vector<std::byte> expected = matrices.c();

  const PreparedOperand a = prepared(*plan, Operand::a, plain.a);
  const PreparedOperand b = prepared(*plan, Operand::b, plain.b);
  EXPECT_EQ(a.operand(), Operand::a);
  EXPECT_EQ(b.operand(), Operand::b);
  for (GemmArguments arguments : {GemmArguments{.b = plain.b, .c = plain.c, .prepared_a = &a},
                                  {.a = plain.a, .c = plain.c, .prepared_b = &b},
                                  {.c = plain.c, .prepared_a = &a, .prepared_b = &b}}) {
    arguments.row_scales = scales.row_scales;
    arguments.column_scales = scales.column_scales;
    matrices.clear_c();
    const Status status = plan->run(arguments);
    ASSERT_TRUE(status.ok()) << test_name(kernel) << ": " << status.message();
    EXPECT_EQ(matrices.c(), expected) << test_name(kernel);
  }
}

TEST(Prepared, EveryKernelGivesTheSameBits) {
  for (const KernelOfType& kernel : everything()) {
    const GemmDescription d = contiguous(kernel.types, 13, 21, 34, 2);
    expect_same_bits(d, {}, kernel);
    const ElementType sums = accumulator_type(kernel.types);
    if (!is_floating(sums) || is_complex(sums)) continue;
    GemmDescription scaled = d;
    scaled.row_scales = scaled.column_scales = true;
    const std::vector<float> narrow(21, 0.75F);
    const std::vector<double> wide(21, 0.75);
    const void* const scales = sums == ElementType::f64 ? static_cast<const void*>(wide.data()) : narrow.data();
    expect_same_bits(scaled, {.row_scales = scales, .column_scales = scales}, kernel);
  }
}

TEST(Prepared, OneOperandServesManyPlans) {
  const GemmOptions naive{.kernel = "cpu_naive"};
  const GemmDescription wide = contiguous(f32_types, 40, 24, 32);
  const Plan first = Plan::make(wide, naive).value();
  Matrices matrices(wide, 1);
  const PreparedOperand b = prepared(first, Operand::b, matrices.arguments().b);
  ASSERT_TRUE(first.run(matrices.arguments()).ok());
  const std::vector<std::byte> expected = matrices.c_rows(0, 5);

  // Fewer rows, and B the same for every product of a batch.
  GemmDescription batch = contiguous(f32_types, 5, 24, 32, 3);
  batch.a.batch_stride = 0;
  batch.b.batch_stride = 0;
  const Plan second = Plan::make(batch, naive).value();
  Matrices small(batch, 1);
  small.clear_c();
  const Status status = second.run({.a = matrices.arguments().a, .c = small.arguments().c, .prepared_b = &b});
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t p = 0; p < 3; ++p)
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           small.c().begin() + static_cast<std::ptrdiff_t>(p * expected.size())));
}

TEST(Prepared, WhatDoesNotFitIsRefusedInWords) {
  const GemmDescription d = contiguous(f32_types, 8, 8, 8);
  const Plan plan = Plan::make(d, {.kernel = "cpu_naive"}).value();
  Matrices matrices(d, 1);
  const GemmArguments plain = matrices.arguments();
  const PreparedOperand a = prepared(plan, Operand::a, plain.a);
  const PreparedOperand b = prepared(plan, Operand::b, plain.b);
  const auto expect_refused = [&](const Plan& taker, const GemmArguments& arguments, const std::string& sentence) {
    const Status status = taker.run(arguments);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << sentence;
    EXPECT_EQ(status.message(), sentence);
  };
  expect_refused(plan, {.c = plain.c, .prepared_a = &b, .prepared_b = &b},
                 "prepared_a was prepared as b: expected one prepared as a");
  expect_refused(plan, {.a = plain.a, .b = plain.b, .c = plain.c, .prepared_b = &b},
                 "b and prepared_b are both given: expected one");
  expect_refused(plan, {.c = plain.c, .prepared_a = &a}, "b = null: expected a pointer to the elements of B");

  GemmDescription other = contiguous(f32_types, 8, 9, 8);
  expect_refused(Plan::make(other, {.kernel = "cpu_naive"}).value(), {.a = plain.a, .c = plain.c, .prepared_b = &b},
                 "prepared_b is 8 x 8 f32 with strides (8, 1): expected 8 x 9 f32 with strides (9, 1)");
  other = d;
  other.b = {.row_stride = 1, .column_stride = 8};
  expect_refused(Plan::make(other, {.kernel = "cpu_naive"}).value(), {.a = plain.a, .c = plain.c, .prepared_b = &b},
                 "prepared_b is 8 x 8 f32 with strides (8, 1): expected 8 x 8 f32 with strides (1, 8)");
  const Plan elsewhere = Plan::make(d, {.backend = Backend::cpu}).value();
  ASSERT_NE(elsewhere.summary().kernel, "cpu_naive");
  expect_refused(elsewhere, {.a = plain.a, .c = plain.c, .prepared_b = &b},
                 "prepared_b was prepared for kernel 'cpu_naive' on device 0, operands in host memory: expected one "
                 "for kernel '" +
                     elsewhere.summary().kernel + "' on device 0, operands in host memory");

  const Plan blocked = Plan::make(d, {.kernel = "portable_blocked"}).value();
  const Plan reproducible = Plan::make(d, {.kernel = "portable_blocked", .reproducible = true}).value();
  const PreparedOperand of_any_order = blocked.prepare(Operand::b, plain.b).value();
  expect_refused(reproducible, {.a = plain.a, .c = plain.c, .prepared_b = &of_any_order},
                 "prepared_b was prepared for kernel 'portable_blocked' on device 0, operands in host memory: expected "
                 "one for kernel 'portable_blocked' on device 0, operands in host memory, reproducible");

  // C may not lie over the elements, though they are not given.
  EXPECT_EQ(plan.run({.a = plain.a, .c = const_cast<void*>(plain.b), .prepared_b = &b}).code(),
            StatusCode::invalid_argument);

  const Result<PreparedOperand> nothing = plan.prepare(Operand::b, nullptr);
  EXPECT_EQ(nothing.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(nothing.status().message(), "elements = null: expected a pointer to the elements of b");

  PreparedOperand source = a;
  const PreparedOperand taken = std::move(source);
  expect_refused(plan, {.b = plain.b, .c = plain.c, .prepared_a = &source},  // NOLINT(bugprone-use-after-move)
                 "prepared_a has been moved from: expected what Plan::prepare() answered");
  EXPECT_TRUE(plan.run({.b = plain.b, .c = plain.c, .prepared_a = &taken}).ok());
}

TEST(Prepared, NothingToComputeIsNothingToPrepare) {
  const ForbiddenMemory forbidden(4096);
  float c = 3;
  const Plan empty_sum = Plan::make(contiguous(f32_types, 1, 1, 0)).value();
  const PreparedOperand none = prepared(empty_sum, Operand::a, nullptr);
  ASSERT_TRUE(empty_sum.run({.c = &c, .beta = 2, .prepared_a = &none}).ok());
  EXPECT_EQ(c, 6);

  // alpha = 0 reads neither A nor B.
  const Plan plan = Plan::make(contiguous(f32_types, 1, 1, 4)).value();
  const PreparedOperand a = prepared(plan, Operand::a, forbidden.data());
  const PreparedOperand b = prepared(plan, Operand::b, forbidden.data());
  ASSERT_TRUE(plan.run({.c = &c, .alpha = 0, .beta = 2, .prepared_a = &a, .prepared_b = &b}).ok());
  EXPECT_EQ(c, 12);
}

}  // namespace
}  // namespace exactile::test
