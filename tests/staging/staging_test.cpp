// SPDX-License-Identifier: Apache-2.0
// Products in host memory on a device that puts its work off, bit for bit against the same kernel on the host.
#include "staging/staging.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "staging/fake_device.hpp"
#include "support/check_case.hpp"
#include "support/matrices.hpp"
#include "verification/guarded_operand.hpp"
#include "verification/verification.hpp"

namespace exactile::test {
namespace {

using verification::Fill;
using verification::GuardedOperand;

constexpr staging::DeviceKernel fake_kernel{.refuses = [](const plan::Problem&) { return std::string_view(); },
                                            .prepare = prepare_fake};

/// So small that products of a few dozen rows are cut, chunks are pieces of lines, and rings go round.
constexpr staging::Limits small_limits{.least_tile_edge = 12,
                                       .most_tile_edge = 16,
                                       .panel_bytes = 4096,
                                       .group_bytes = 2048,
                                       .whole_bytes = 512,
                                       .cut_k_edge = 8,
                                       .edge_multiple = 4,
                                       .one_piece_bytes = 0,
                                       .least_chunk_bytes = 128,
                                       .most_chunk_bytes = 512,
                                       .thread_bytes = 1,
                                       .ring_slots = 3};

struct Guarded {
  std::unique_ptr<GuardedOperand> a, b, c, expected, bias, row_scales, column_scales;
};

std::unique_ptr<GuardedOperand> guarded(ElementType type, std::int64_t rows, std::int64_t columns,
                                        const OperandLayout& layout, std::int64_t count, std::uint64_t seed) {
  auto made = GuardedOperand::make(type, rows, columns, layout, count,
                                   seed % 2 == 0 ? GuardedOperand::Flush::begin : GuardedOperand::Flush::end);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

/// A product with its operands, and what the kernel makes of it where it lies.
class Product {
 public:
  Product(const GemmDescription& description, Scalar beta, Fill fill, std::uint64_t seed)
      : d_(description), beta_(beta) {
    const std::int64_t bias_length = d_.bias == Bias::per_row ? d_.m : d_.n;
    const OperandLayout line{.row_stride = bias_length};
    operands_.a = guarded(d_.types.input, d_.m, d_.k, d_.a, d_.batch_count, seed);
    operands_.b = guarded(d_.types.input, d_.k, d_.n, d_.b, d_.batch_count, seed);
    operands_.c = guarded(d_.types.output, d_.m, d_.n, d_.c, d_.batch_count, seed);
    operands_.expected = guarded(d_.types.output, d_.m, d_.n, d_.c, d_.batch_count, seed);
    operands_.bias = guarded(d_.types.output, 1, bias_length, line, 1, seed);
    operands_.row_scales = scales(fill, d_.m, seed);
    operands_.column_scales = scales(fill, d_.n, ~seed);
    verification::fill(fill, seed, d_.types.input, d_.m, d_.k, d_.a, d_.batch_count, operands_.a->argument(),
                       verification::Part::a);
    verification::fill(fill, seed, d_.types.input, d_.k, d_.n, d_.b, d_.batch_count, operands_.b->argument(),
                       verification::Part::b);
    verification::fill(fill, ~seed, d_.types.output, 1, bias_length, line, 1, operands_.bias->argument(),
                       verification::Part::c);
    if (!beta.is_zero())  // else C keeps a pattern that is NaN
      for (GuardedOperand* c : {operands_.c.get(), operands_.expected.get()})
        verification::fill(fill, seed, d_.types.output, d_.m, d_.n, d_.c, d_.batch_count, c->argument(),
                           verification::Part::c);
    operands_.c->take_snapshot();
    const Status status = gemm(d_, arguments(*operands_.expected), {.kernel = "cpu_naive", .threads = 1});
    EXPECT_TRUE(status.ok()) << status.message();
  }

  [[nodiscard]] GemmArguments arguments() const { return arguments(*operands_.c); }
  [[nodiscard]] const Guarded& operands() const { return operands_; }

  /// The whole mapping at once: elements, and all around them.
  void expect_right(const std::string& what) const {
    EXPECT_EQ(operands_.c->digest(), operands_.expected->digest()) << what;
    EXPECT_FALSE(operands_.c->surroundings_changed()) << what;
  }

 private:
  [[nodiscard]] GemmArguments arguments(GuardedOperand& c) const {
    return {.a = operands_.a->argument(),
            .b = operands_.b->argument(),
            .c = c.argument(),
            .alpha = 1,
            .beta = beta_,
            .bias = d_.bias == Bias::none ? nullptr : operands_.bias->argument(),
            .row_scales = d_.row_scales ? operands_.row_scales->argument() : nullptr,
            .column_scales = d_.column_scales ? operands_.column_scales->argument() : nullptr};
  }
  [[nodiscard]] std::unique_ptr<GuardedOperand> scales(Fill fill, std::int64_t length, std::uint64_t seed) const {
    const ElementType type = accumulator_type(d_.types);
    auto made = guarded(type, 1, length, {.row_stride = length}, 1, seed);
    verification::fill(fill, seed, type, 1, length, {.row_stride = length}, 1, made->argument(), verification::Part::c);
    return made;
  }

  GemmDescription d_;
  Scalar beta_;
  Guarded operands_;
};

plan::Problem problem_of(const GemmDescription& description, int threads) {
  return {.description = description, .threads = threads};
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }

  OperandLayout input_layout(std::int64_t rows, std::int64_t columns) {
    switch (between(0, 6)) {
      case 0: return {columns, 1, rows * columns, false};
      case 1: return {1, rows, rows * columns, false};
      case 2: return {columns + between(1, 5), 1, rows * (columns + 5), false};
      case 3: return {-(columns + 1), 1, rows * (columns + 1), false};
      case 4: return {2, 2 * rows + 1, columns * (2 * rows + 1), false};
      case 5: return {0, 1, columns, false};
      default: return {-1, -rows, rows * columns, false};
    }
  }
  OperandLayout output_layout(std::int64_t rows, std::int64_t columns) {
    switch (between(0, 3)) {
      case 0: return {columns, 1, rows * columns, false};
      case 1: return {1, rows + 3, columns * (rows + 3), false};
      case 2: return {columns + 1, 1, rows * (columns + 1), false};
      default: return {3 * columns, 3, rows * 3 * columns, false};
    }
  }

 private:
  std::mt19937_64 random_;
};

constexpr std::array types{
    GemmTypes{ElementType::f32, ElementType::f32},   GemmTypes{ElementType::f64, ElementType::f64},
    GemmTypes{ElementType::f16, ElementType::f16},   GemmTypes{ElementType::i8, ElementType::i32},
    GemmTypes{ElementType::cf64, ElementType::cf64}, GemmTypes{ElementType::bf16, ElementType::f32}};

GemmDescription any_description(Dice& dice) {
  GemmDescription d;
  d.types = types[static_cast<std::size_t>(dice.between(0, types.size() - 1))];
  d.m = dice.between(1, 70);
  d.n = dice.between(1, 70);
  d.k = dice.between(1, 40);
  if (dice.one_in(3)) {
    d.batch_count = dice.between(2, 9);
    d.m = dice.between(1, 24);
    d.n = dice.between(1, 24);
  }
  d.a = dice.input_layout(d.m, d.k);
  d.b = dice.input_layout(d.k, d.n);
  d.c = dice.output_layout(d.m, d.n);
  for (OperandLayout* layout : {&d.a, &d.b})
    if (dice.one_in(3)) layout->batch_stride = 0;
  for (OperandLayout* layout : {&d.a, &d.b, &d.c})
    if (dice.one_in(5)) *layout = {layout->row_stride, layout->column_stride, 0, true};
  if (dice.one_in(3)) d.bias = dice.one_in(2) ? Bias::per_row : Bias::per_column;
  if (dice.one_in(3) && !is_complex(d.types.input)) d.activation = Activation::relu;
  d.row_scales = is_floating(d.types.input) && !is_complex(d.types.input) && dice.one_in(4);
  d.column_scales = is_floating(d.types.input) && !is_complex(d.types.input) && dice.one_in(4);
  return d;
}

std::string name_of(const GemmDescription& d, std::uint64_t seed) {
  return "seed " + std::to_string(seed) + ": " +
         verification::reproducer({.description = d, .options = {.kernel = "cpu_naive"}});
}

TEST(Staging, AnyProductAnyOrderOfWork) {
  const std::uint64_t cases = number_from_environment("EXACTILE_SWEEP_CASES", 3000);
  const std::uint64_t first = number_from_environment("EXACTILE_SWEEP_SEED", 1);
  for (std::uint64_t seed = first; seed < first + cases && !::testing::Test::HasFailure(); ++seed) {
    Dice dice(seed);
    const GemmDescription d = any_description(dice);
    const Scalar beta = dice.one_in(2) ? Scalar(0) : Scalar(2);
    const Product product(d, beta, Fill::normal, seed);
    FakeDevice device(64 << 20, dice.one_in(2) ? Pace::lazy : Pace::dice, seed);
    for (const GuardedOperand* operand : {product.operands().a.get(), product.operands().b.get()})
      if (!d.a.pointer_array && !d.b.pointer_array && dice.one_in(2))
        device.kinds.emplace_back(const_cast<GuardedOperand*>(operand)->argument(), staging::HostMemory::pinned);
    if (!d.c.pointer_array && dice.one_in(2))
      device.kinds.emplace_back(product.operands().c->argument(), staging::HostMemory::pinned);
    if (dice.one_in(3)) device.largest = 1 << dice.between(12, 16);
    staging::Stager stager(device);
    staging::Limits limits = small_limits;
    if (dice.one_in(4)) limits = {.least_tile_edge = 16};
    const auto executable =
        staging::prepare(problem_of(d, static_cast<int>(dice.between(1, 4))), stager, fake_kernel, limits);
    ASSERT_NE(executable, nullptr);
    const int runs = dice.one_in(4) ? 2 : 1;
    const Status status = executable->run(product.arguments(), {});
    ASSERT_TRUE(status.ok()) << name_of(d, seed) << status.message();
    product.expect_right(name_of(d, seed));
    if (runs == 2 && beta.is_zero()) {  // slots and rings now hold what the first run left
      ASSERT_TRUE(executable->run(product.arguments(), {}).ok());
      product.expect_right(name_of(d, seed) + " again");
    }
  }
}

constexpr GemmTypes f32_types{ElementType::f32, ElementType::f32};

Status run_once(FakeDevice& device, const GemmDescription& d, const Product& product, int threads,
                const staging::Limits& limits = small_limits) {
  staging::Stager stager(device);
  const auto executable = staging::prepare(problem_of(d, threads), stager, fake_kernel, limits);
  return executable->run(product.arguments(), {});
}

TEST(Staging, LittleDeviceMemoryMeansSmallerTiles) {
  const std::uint64_t cases = number_from_environment("EXACTILE_SWEEP_CASES", 3000) / 2;
  int out_of_memory = 0;
  for (std::uint64_t seed = 1; seed <= cases && !::testing::Test::HasFailure(); ++seed) {
    Dice dice(seed);
    GemmDescription d = any_description(dice);
    d.k = dice.between(1, 300);
    d.a = dice.input_layout(d.m, d.k);
    d.b = dice.input_layout(d.k, d.n);
    // Integers, because a sum that is cut rounds differently.
    const Product product(d, dice.one_in(2) ? Scalar(0) : Scalar(2), Fill::small_integers, seed);
    FakeDevice device(dice.between(40, 400) << 10, dice.one_in(2) ? Pace::lazy : Pace::dice, seed);
    // Others took some of it meanwhile.
    const std::int64_t taken_bytes = dice.between(0, device.memory_bytes() / 2);
    ASSERT_TRUE(device.allocate(taken_bytes + 1).ok());
    const Status status = run_once(device, d, product, static_cast<int>(dice.between(1, 3)));
    if (status.code() == StatusCode::out_of_memory) {
      ++out_of_memory;  // the epilogue's types may forbid to cut K, or the scratch memory of the kernel is too much
      continue;
    }
    ASSERT_TRUE(status.ok()) << name_of(d, seed) << status.message();
    product.expect_right(name_of(d, seed));
  }
  EXPECT_LT(out_of_memory, static_cast<int>(cases / 5));
}

TEST(Staging, ALimitIsKept) {
  FakeDevice device(64 << 20, Pace::dice, 1);
  staging::Stager stager(device, 1 << 20);
  const auto first = stager.memory(600 << 10);
  ASSERT_TRUE(first.ok());
  const auto second = stager.memory(600 << 10);
  EXPECT_EQ(second.status().code(), StatusCode::out_of_memory);
  EXPECT_TRUE(second.status().message().ends_with("above the limit of 1048576")) << second.status().message();
  EXPECT_EQ(stager.budget().value(), (1 << 20) - (600 << 10));
}

TEST(Staging, FailuresEndTheRunAndSayWhatFailed) {
  const GemmDescription d = contiguous(f32_types, 60, 50, 20);
  for (int call = 0; call < 60; ++call) {
    const Product product(d, 0, Fill::normal, 1);
    FakeDevice device(64 << 20, Pace::dice, 1);
    staging::Stager stager(device);
    const auto executable = staging::prepare(problem_of(d, 1 + call % 3), stager, fake_kernel, small_limits);
    device.fail_call = call;
    const Status status = executable->run(product.arguments(), {});
    EXPECT_EQ(status.code(), StatusCode::device_failure);
    EXPECT_EQ(status.message(), "fake failure");
    device.fail_call = -1;
    ASSERT_TRUE(executable->run(product.arguments(), {}).ok());
    product.expect_right("after a failure");
  }
}

TEST(Staging, RunsFromManyThreadsShareTheDevice) {
  const GemmDescription d = contiguous(f32_types, 60, 50, 20);
  FakeDevice device(64 << 20, Pace::dice, 1);
  staging::Stager stager(device);
  const auto executable = staging::prepare(problem_of(d, 2), stager, fake_kernel, small_limits);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; round < 10; ++round) {
        const Product product(d, 2, Fill::normal, 10 * t + round);
        const Status status = executable->run(product.arguments(), {});
        EXPECT_TRUE(status.ok()) << status.message();
        product.expect_right("thread " + std::to_string(t));
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::int64_t ring_bytes = small_limits.ring_slots * small_limits.most_chunk_bytes;
  EXPECT_LE(device.pinned_bytes, 2 * 2 * ring_bytes);
}

TEST(Staging, EveryByteMovesOnce) {
  for (const Scalar beta : {Scalar(0), Scalar(2)}) {
    GemmDescription d = contiguous(f32_types, 64, 64, 32, 9);
    d.b.batch_stride = 0;
    const Product product(d, beta, Fill::normal, 1);
    FakeDevice device(64 << 20, Pace::lazy, 1);
    ASSERT_TRUE(run_once(device, d, product, 1).ok());
    product.expect_right("broadcast batch");
    const std::int64_t c_bytes = 9 * 64 * 64 * 4;
    EXPECT_EQ(device.uploaded_bytes, (9 * 64 * 32 + 32 * 64) * 4 + (beta.is_zero() ? 0 : c_bytes));
    EXPECT_EQ(device.downloaded_bytes, c_bytes);
  }
}

TEST(Staging, SmallProductsTakeOneCopyEachWay) {
  const GemmDescription d = contiguous(f32_types, 33, 17, 65, 3);
  const Product product(d, 2, Fill::normal, 1);
  FakeDevice device(64 << 20, Pace::lazy, 1);
  ASSERT_TRUE(run_once(device, d, product, 8, {}).ok());
  product.expect_right("one piece");
  EXPECT_EQ(device.copies, 2);
}

TEST(Staging, DeviceMemoryIsNoHostOperand) {
  const GemmDescription d = contiguous(f32_types, 8, 8, 8);
  const Product product(d, 0, Fill::normal, 1);
  FakeDevice device(64 << 20, Pace::lazy, 1);
  device.kinds.emplace_back(product.operands().b->argument(), staging::HostMemory::not_host);
  const Status status = run_once(device, d, product, 1);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_TRUE(status.message().starts_with("b is device memory")) << status.message();
}

TEST(Staging, DeviceMemoryIsNoVectorOfTheHost) {
  GemmDescription d = contiguous(f32_types, 8, 8, 8);
  d.row_scales = d.column_scales = true;
  d.bias = Bias::per_row;
  const Product product(d, 0, Fill::normal, 1);
  const GemmArguments arguments = product.arguments();
  const std::pair<std::string, const void*> vectors[] = {
      {"bias", arguments.bias}, {"row_scales", arguments.row_scales}, {"column_scales", arguments.column_scales}};
  for (const auto& [name, data] : vectors) {
    FakeDevice device(64 << 20, Pace::lazy, 1);
    device.kinds.emplace_back(data, staging::HostMemory::not_host);
    const Status status = run_once(device, d, product, 1);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_TRUE(status.message().starts_with(name + " is device memory")) << status.message();
  }
}

TEST(Staging, OperandsThatNoDeviceCanHoldAreRefused) {
  GemmDescription d = contiguous(f32_types, 8, 8, 1 << 20);
  EXPECT_TRUE(staging::why_not(problem_of(d, 1)).empty());
  d.k = std::int64_t{1} << 61;
  d.a = {.row_stride = 0, .column_stride = 0};
  d.b = {.row_stride = 0, .column_stride = 0};
  EXPECT_FALSE(staging::why_not(problem_of(d, 1)).empty());
}

TEST(Staging, AKernelThatRefusesTilesGetsTheWholeProduct) {
  const staging::DeviceKernel whole_only{.refuses = [](const plan::Problem& p) -> std::string_view {
                                           return p.description.m == 60 ? "" : "wants 60 rows";
                                         },
                                         .prepare = prepare_fake};
  const GemmDescription d = contiguous(f32_types, 60, 50, 20);
  const Product product(d, 0, Fill::normal, 1);
  FakeDevice device(64 << 20, Pace::dice, 1);
  staging::Stager stager(device);
  const auto executable = staging::prepare(problem_of(d, 2), stager, whole_only, small_limits);
  ASSERT_TRUE(executable->run(product.arguments(), {}).ok());
  product.expect_right("whole");
}

}  // namespace
}  // namespace exactile::test
