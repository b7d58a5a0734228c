// SPDX-License-Identifier: Apache-2.0
// What is offered for a reproducible product, on the host: for GPUs that nobody here has, every size and layout has
// kernels, and all that these offer sum in one order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "cuda/kernel_list.hpp"
#include "cuda/kernels/sm90/native/plan.hpp"
#include "cuda/model/rank.hpp"
#include "cuda/order_of_sums.hpp"
#include "gpu/h200.hpp"
#include "gpu/row_major.hpp"

namespace exactile::cuda {
namespace {

constexpr std::array capabilities{80, 86, 89, 90, 100, 120};

Device device_of(int capability) {
  Device device = h200;
  device.compute_capability = capability;
  if (capability != 90) device.shared_bytes_per_block = (capability == 80 || capability == 100 ? 163 : 99) << 10;
  return device;
}

std::vector<GemmTypes> real_floating_types() {
  std::vector<GemmTypes> types;
  for (const GemmTypes pair : all_gemm_types())
    if (is_floating(pair.input) && !is_complex(pair.input)) types.push_back(pair);
  return types;
}

struct Offered {
  const Kernel* kernel;
  Configuration configuration;
};

/// All that the planner may choose from.
std::vector<Offered> offered(const plan::Problem& problem, const Device& device) {
  std::vector<Offered> all;
  for (const Kernel* kernel : kernels()) {
    if (!model::can_do(*kernel, problem, device)) continue;
    if (!order_refuses(problem, device.compute_capability, kernel->name).empty()) continue;
    for (const Candidate& c : kernel->candidates(problem, device))
      if (may_offer(problem, device.compute_capability, kernel->name, c.configuration))
        all.push_back({kernel, c.configuration});
  }
  return all;
}

/// Any layout: by rows or columns, with or without a gap.
OperandLayout layout(std::int64_t rows, std::int64_t columns, std::mt19937& dice) {
  const auto gap = static_cast<std::int64_t>(dice() % 3);
  return dice() % 2 == 0 ? OperandLayout{columns + gap, 1, (columns + gap) * rows}
                         : OperandLayout{1, rows + gap, (rows + gap) * columns};
}

plan::Problem problem_of(GemmTypes types, Accuracy accuracy, std::int64_t m, std::int64_t k, std::mt19937& dice) {
  const auto n = static_cast<std::int64_t>(1 + dice() % 5000);
  GemmDescription d = test::row_major(types, m, n, k, static_cast<std::int64_t>(1 + dice() % 3));
  d.a = layout(m, k, dice);
  d.b = layout(k, n, dice);
  d.c = layout(m, n, dice);
  return {.description = d, .accuracy = accuracy, .memory = Memory::device, .reproducible = true};
}

/// The numbers of rows for which bits are compared on a GPU, and some beyond.
std::vector<std::int64_t> numbers_of_rows() {
  std::vector<std::int64_t> all;
  for (std::int64_t m = 1; m <= 257; ++m) all.push_back(m);
  for (std::int64_t m = 300; m < 40000; m += m / 2) all.push_back(m);
  return all;
}

constexpr std::array<std::int64_t, 10> numbers_of_terms{1, 63, 64, 1000, 1024, 4096, 8192, 32768, 32769, 70000};

TEST(OrderOfSums, EveryProductHasKernelsAndAllKeepOneOrder) {
  std::mt19937 dice(5);
  for (const int capability : capabilities) {
    const Device device = device_of(capability);
    for (const GemmTypes types : real_floating_types())
      for (const Accuracy accuracy : {Accuracy::reduced, Accuracy::standard})
        for (const std::int64_t k : numbers_of_terms) {
          const OrderOfSums* order = order_of_sums(types, accuracy, k, capability);
          ASSERT_NE(order, nullptr) << to_string(types);
          for (const std::int64_t m : numbers_of_rows()) {
            if (m % 8 != 1 && capability != 90) continue;
            const plan::Problem problem = problem_of(types, accuracy, m, k, dice);
            const std::vector<Offered> all = offered(problem, device);
            ASSERT_FALSE(all.empty()) << to_string(types) << " " << to_string(accuracy) << ", k = " << k
                                      << ", m = " << m << ", n = " << problem.description.n << " on " << capability;
            for (const Offered& one : all)
              ASSERT_TRUE(keeps(*order, one.kernel->name, one.configuration)) << one.kernel->name;
          }
        }
  }
}

/// What makes an order, family by family: how a configuration cuts K is compared, not its name.
TEST(OrderOfSums, NoOfferedConfigurationCutsKElsewhere) {
  namespace native = sm90::native;
  std::mt19937 dice(6);
  for (const GemmTypes types : real_floating_types())
    for (const Accuracy accuracy : {Accuracy::reduced, Accuracy::standard})
      for (const std::int64_t k : numbers_of_terms)
        for (const std::int64_t m : {1, 7, 64, 300, 5000}) {
          const plan::Problem problem = problem_of(types, accuracy, m, k, dice);
          for (const auto& [kernel, c] : offered(problem, h200)) {
            if (types.input == ElementType::f64) {
              EXPECT_EQ(c.cluster_k, 0) << "its tiles and slices in memory all sum alike";
              continue;
            }
            EXPECT_LE(c.split_k, kernel->name == "simt_f32" ? c.split_k : 1) << kernel->name;
            EXPECT_TRUE(kernel->name != "simt_f32" || c.bm >= 64) << "smaller tiles sum in pieces";
            EXPECT_TRUE(!kernel->name.starts_with("sm80_") || k <= 32768) << "it would not cut K, as its fellows do";
            if (c.cluster_k == 0) continue;
            const auto bytes = kernel->name.starts_with("sm90_f8") ? ElementType::f8e4m3
                               : types.input == ElementType::f32   ? ElementType::f32
                                                                   : ElementType::f16;
            const native::LaunchConfig layout = native::launch_config_of(problem.description, bytes, c);
            EXPECT_EQ(layout.cluster.k, 1);
            EXPECT_EQ(layout.split_k, native::split_k_of(problem.description, bytes, {}));
          }
        }
}

TEST(OrderOfSums, OthersRefuseAndSayWhy) {
  const auto refusal = [](GemmTypes types, std::string_view kernel) {
    return order_refuses(
        {.description = test::row_major(types, 4, 4096, 4096), .memory = Memory::device, .reproducible = true}, 90,
        kernel);
  };
  const GemmTypes bf16{ElementType::bf16, ElementType::bf16}, f64{ElementType::f64, ElementType::f64};
  EXPECT_EQ(refusal(bf16, "gemv"), "would cut K elsewhere, or sum in another order (reproducible)");
  EXPECT_FALSE(refusal(bf16, "simt_native").empty());
  EXPECT_FALSE(refusal(f64, "simt_f64").empty());
  EXPECT_FALSE(refusal({ElementType::cf32, ElementType::cf32}, "simt_complex").empty());
  EXPECT_TRUE(refusal(bf16, "sm90_bf16_wgmma").empty());
  EXPECT_TRUE(refusal({ElementType::i8, ElementType::i32}, "gemv").empty()) << "integers are exact";
  const plan::Problem free{.description = test::row_major(bf16, 4, 4096, 4096), .memory = Memory::device};
  EXPECT_TRUE(order_refuses(free, 90, "gemv").empty());
  EXPECT_TRUE(may_offer(free, 90, "sm90_bf16_wgmma", {.cluster_k = 2}));
}

TEST(OrderOfSums, EveryMemberIsAKernelWhosePinsCanBeRead) {
  for (const OrderOfSums& order : orders_of_sums())
    for (const OrderOfSums::Member& member : order.members) {
      EXPECT_TRUE(std::ranges::any_of(kernels(), [&](const Kernel* k) { return k->name == member.kernel; }))
          << member.kernel;
      EXPECT_TRUE(Pin::parse(member.pin)) << member.kernel << " " << member.pin;
      EXPECT_TRUE(keeps_some_order(member.kernel));
    }
  EXPECT_FALSE(keeps_some_order("gemv"));
}

/// Another fingerprint means other bits, and these a new major version. A kernel that joins an order because it leaves
/// the same bits (reproducible_test.cpp shows it) changes it too, and no bit.
TEST(OrderOfSums, HasTheFingerprintsThatWerePromised) {
  std::vector<std::string> prints;
  for (const OrderOfSums& order : orders_of_sums()) prints.push_back(fingerprint(order));
  EXPECT_EQ(prints,
            (std::vector<std::string>{"731272aad4b7ef40", "17108a156fe44369", "db8c709dcf3c74bc", "d1fb2ed341f2cd28",
                                      "45f31c6f825da363", "2940cc47d324cb74", "b99632c6be6e568a", "71c63c526365600a"}));
}

TEST(OrderOfSums, ExplainSaysHowFarThePromiseReaches) {
  const plan::Problem problem{.description = test::row_major({ElementType::bf16, ElementType::bf16}, 4, 4096, 4096),
                              .memory = Memory::device,
                              .reproducible = true};
  const auto is_bf16 = [](std::string_view kernel, GemmTypes) { return kernel.find("bf16") != std::string_view::npos; };
  const OrderOfSums* order = order_of_sums(problem.description.types, Accuracy::standard, 4096, 90);
  EXPECT_EQ(reach_of_order(problem, 90, is_bf16),
            "on every GPU of compute capability 9.0, by sm90_bf16_wgmma CLUSTER_K=1 SLICE_K=0, sm80_bf16_mma\n"
            "               order " +
                fingerprint(*order) + ": K in one piece on tensor cores, summed in f32");
}

}  // namespace
}  // namespace exactile::cuda
