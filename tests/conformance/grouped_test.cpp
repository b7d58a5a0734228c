// SPDX-License-Identifier: Apache-2.0
// Grouped products in host memory: the bytes of one product a group, nothing else written, and what is refused.
#include "conformance/support.hpp"

namespace exactile::test {
namespace {

using Offsets = std::vector<std::int64_t>;

/// Rows before the first group and behind the last one, and between them empty groups and groups of all sizes.
const Offsets some_offsets{2, 2, 5, 5, 6, 39, 39, 56, 56};
constexpr std::int64_t total_rows = 60;

/// Contiguous rows; B by rows or by columns, with a gap from group to group.
GroupedDescription grouped(GemmTypes types, std::int64_t n, std::int64_t k, bool b_by_columns = false,
                           std::int64_t groups = std::ssize(some_offsets) - 1) {
  return {.types = types,
          .groups = groups,
          .total_rows = total_rows,
          .n = n,
          .k = k,
          .a = {.row_stride = k + 3},
          .b = {.row_stride = b_by_columns ? 1 : n + 1,
                .column_stride = b_by_columns ? k + 2 : 1,
                .batch_stride = (n + 2) * (k + 2)},
          .c = {.row_stride = n + 1}};
}

/// A and B filled with normal numbers, C with bytes that are NaN in every floating type, or with numbers.
struct Operands {
  std::vector<std::byte> a, b, c, row_scales, column_scales;

  Operands(const GroupedDescription& d, verification::Fill c_fill)
      : a(bytes(d.total_rows * d.a.row_stride, d.types.input)),
        b(bytes(d.groups * d.b.batch_stride, d.types.input_b)),
        c(bytes(d.total_rows * d.c.row_stride, d.types.output), std::byte{0xff}),
        row_scales(bytes(d.total_rows, accumulator_type(d.types))),
        column_scales(bytes(d.groups * d.n, accumulator_type(d.types))) {
    using verification::fill;
    fill(verification::Fill::normal, 1, d.types.input, d.total_rows, d.k, d.a, 1, a.data(), verification::Part::a);
    fill(verification::Fill::normal, 1, d.types.input_b, d.k, d.n, d.b, d.groups, b.data(), verification::Part::b);
    if (c_fill == verification::Fill::normal)
      fill(c_fill, 1, d.types.output, d.total_rows, d.n, d.c, 1, c.data(), verification::Part::c);
    const auto fill_scales = [&](std::vector<std::byte>& scales, std::int64_t count, verification::Part part) {
      fill(verification::Fill::normal, 7, accumulator_type(d.types), 1, count, {count, 1}, 1, scales.data(), part);
    };
    fill_scales(row_scales, d.total_rows, verification::Part::a);
    fill_scales(column_scales, d.groups * d.n, verification::Part::b);
  }
  [[nodiscard]] GroupedArguments arguments(const Offsets& offsets) {
    return {.a = a.data(),
            .b = b.data(),
            .c = c.data(),
            .offsets = offsets.data(),
            .row_scales = row_scales.data(),
            .column_scales = column_scales.data()};
  }

 private:
  static std::size_t bytes(std::int64_t elements, ElementType type) {
    return static_cast<std::size_t>(elements * size_in_bytes(type));
  }
};

/// What gemm() makes of it, a group at a time.
void multiply_groups(const GroupedDescription& d, Operands& operands, const Offsets& offsets, Scalar alpha, Scalar beta,
                     const GemmOptions& options) {
  for (std::size_t g = 0; g + 1 < offsets.size(); ++g) {
    GemmDescription product{.types = d.types,
                            .m = offsets[g + 1] - offsets[g],
                            .n = d.n,
                            .k = d.k,
                            .a = d.a,
                            .b = d.b,
                            .c = d.c,
                            .row_scales = d.row_scales,
                            .column_scales = d.column_scales};
    product.b.batch_stride = 0;
    const auto group = static_cast<std::int64_t>(g);
    const auto at = [](auto& data, std::int64_t element, ElementType type) {
      return data.data() + element * size_in_bytes(type);
    };
    const Status status = gemm(product,
                               {.a = at(operands.a, offsets[g] * d.a.row_stride, d.types.input),
                                .b = at(operands.b, group * d.b.batch_stride, d.types.input_b),
                                .c = at(operands.c, offsets[g] * d.c.row_stride, d.types.output),
                                .alpha = alpha,
                                .beta = beta,
                                .row_scales = at(operands.row_scales, offsets[g], accumulator_type(d.types)),
                                .column_scales = at(operands.column_scales, group * d.n, accumulator_type(d.types))},
                               options);
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

void expect_groups(const GroupedDescription& d, const Offsets& offsets, Scalar alpha, Scalar beta) {
  const GemmOptions options{.backend = Backend::cpu};
  const auto plan = GroupedPlan::make(d);
  ASSERT_TRUE(plan.ok()) << to_string(d.types) << ": " << plan.status().message();
  const auto c_fill = beta.is_zero() ? verification::Fill::special_values : verification::Fill::normal;
  Operands ours(d, c_fill), expected(d, c_fill);
  GroupedArguments arguments = ours.arguments(offsets);
  arguments.alpha = alpha;
  arguments.beta = beta;
  const Status status = plan.value().run(arguments);
  ASSERT_TRUE(status.ok()) << to_string(d.types) << ": " << status.message();
  multiply_groups(d, expected, offsets, alpha, beta, options);
  EXPECT_EQ(ours.c, expected.c) << to_string(d.types) << ", n = " << d.n << ", k = " << d.k;
}

TEST(Grouped, HasTheBytesOfOneProductAGroup) {
  for (const GemmTypes types : all_gemm_types())
    for (const bool b_by_columns : {false, true}) {
      expect_groups(grouped(types, 17, 33, b_by_columns), some_offsets, 1, 0);
      expect_groups(grouped(types, 40, 64, b_by_columns), some_offsets, 2, 1);
    }
}

TEST(Grouped, RowsAndColumnsOfGroupsHaveScales) {
  for (const GemmTypes types : all_gemm_types()) {
    if (!is_floating(types.input) || is_complex(types.input)) continue;
    GroupedDescription d = grouped(types, 17, 33);
    d.row_scales = true;
    expect_groups(d, some_offsets, 1, 0);
    d.column_scales = true;
    expect_groups(d, some_offsets, 2, 1);
  }
}

TEST(Grouped, AlphaAndKOfZeroScaleTheRowsOfGroups) {
  expect_groups(grouped(f32_types, 17, 33), some_offsets, 0, 2);
  expect_groups(grouped(f32_types, 17, 0), some_offsets, 1, 0.5);
}

TEST(Grouped, OnePlanServesEveryRouting) {
  const GroupedDescription d = grouped(f32_types, 24, 40);
  const auto plan = GroupedPlan::make(d);
  ASSERT_TRUE(plan.ok());
  for (const Offsets& offsets : {Offsets{0, 60, 60, 60, 60, 60, 60, 60, 60}, Offsets{0, 0, 0, 0, 0, 0, 0, 0, 0},
                                 Offsets{60, 60, 60, 60, 60, 60, 60, 60, 60}, Offsets{0, 1, 2, 3, 4, 5, 6, 7, 60}}) {
    Operands ours(d, verification::Fill::special_values), expected(d, verification::Fill::special_values);
    ASSERT_TRUE(plan.value().run(ours.arguments(offsets)).ok());
    multiply_groups(d, expected, offsets, 1, 0, {.backend = Backend::cpu});
    EXPECT_EQ(ours.c, expected.c);
  }
}

TEST(Grouped, NothingToDoNeedsNoPointers) {
  for (const GroupedDescription& d : {grouped(f32_types, 0, 8), grouped(f32_types, 8, 8, false, 0)}) {
    const auto plan = GroupedPlan::make(d);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(plan.value().run({}).ok());
  }
}

void expect_refused(const GroupedDescription& d, const GemmOptions& options, StatusCode code, std::string_view part) {
  const auto plan = GroupedPlan::make(d, options);
  ASSERT_FALSE(plan.ok()) << "expected: " << part;
  EXPECT_EQ(plan.status().code(), code) << plan.status().message();
  EXPECT_NE(plan.status().message().find(part), std::string_view::npos) << plan.status().message();
}

TEST(Grouped, BadDescriptionsAreRefused) {
  const GroupedDescription good = grouped(f32_types, 16, 16);
  GroupedDescription d = good;
  d.groups = -1;
  expect_refused(d, {}, StatusCode::invalid_argument, "groups = -1");
  d = good;
  d.total_rows = -2;
  expect_refused(d, {}, StatusCode::invalid_argument, "total_rows = -2");
  d = good;
  d.n = -3;
  expect_refused(d, {}, StatusCode::invalid_argument, "n = -3");
  d = good;
  d.c.row_stride = 8;
  expect_refused(d, {}, StatusCode::invalid_argument, "c's row stride = 8");
  d = good;
  d.b.batch_stride = std::int64_t{1} << 62;
  expect_refused(d, {}, StatusCode::invalid_argument, "b is 16 x 16");
  d = good;
  d.b.pointer_array = true;
  expect_refused(d, {}, StatusCode::unsupported, "b.pointer_array = true");
  d = good;
  d.types.output = ElementType::i8;
  expect_refused(d, {}, StatusCode::unsupported, "types = f32->i8");
  expect_refused(good, {.kernel = "no_such_kernel"}, StatusCode::unknown_name, "no_such_kernel");
  expect_refused(good, {.backend = Backend::cuda}, StatusCode::unsupported, "host memory");
  expect_refused(good, {.backend = Backend::opencl, .memory = Memory::device}, StatusCode::unsupported, "opencl");
  expect_refused(good, {.backend = Backend::cpu, .memory = Memory::device}, StatusCode::unsupported, "cpu");
}

TEST(Grouped, BadArgumentsAreRefusedBeforeAnythingIsWritten) {
  const GroupedDescription d = grouped(f32_types, 16, 16);
  const auto plan = GroupedPlan::make(d);
  ASSERT_TRUE(plan.ok());
  Operands operands(d, verification::Fill::special_values);
  const std::vector<std::byte> before = operands.c;
  const auto expect_bad = [&](const GroupedArguments& arguments, std::string_view part) {
    const Status status = plan.value().run(arguments);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << part;
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
    EXPECT_EQ(operands.c, before) << part;
  };
  const GroupedArguments good = operands.arguments(some_offsets);
  for (const auto& [place, value] : {std::pair<std::size_t, std::int64_t>{8, 61}, {3, 4}, {0, -1}, {8, 55}}) {
    Offsets offsets = some_offsets;
    offsets[place] = value;
    expect_bad(operands.arguments(offsets), "offsets[" + std::to_string(place) + "] = " + std::to_string(value));
  }
  const auto without = [&](auto member) {
    GroupedArguments arguments = good;
    arguments.*member = nullptr;
    return arguments;
  };
  expect_bad(without(&GroupedArguments::a), "a = null");
  expect_bad(without(&GroupedArguments::b), "b = null");
  expect_bad(without(&GroupedArguments::c), "c = null");
  expect_bad(without(&GroupedArguments::offsets), "offsets = null");
  GroupedArguments arguments = good;
  arguments.alpha = std::complex<double>(0, 1);
  expect_bad(arguments, "alpha is complex");
  arguments = good;
  arguments.a = operands.c.data();
  expect_bad(arguments, "c shares memory with a");
}

}  // namespace
}  // namespace exactile::test
