// SPDX-License-Identifier: Apache-2.0
// A large product of f64 in every layout: where TMA copies one operand and threads copy the other, much larger one
// element by element, the loads of what is multiplied wait behind those copies. Nothing may be written over before.
#include <cmath>
#include <cstring>
#include <random>

#include "gpu/by_columns.hpp"
#include "gpu/device_product.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f64_types{ElementType::f64, ElementType::f64};
constexpr Shape shape{64, 4096, 4096};  // B is larger than L2

std::vector<double> uniform(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> x(static_cast<std::size_t>(count));
  for (double& element : x) element = std::ldexp(static_cast<double>(random()), -31) - 1;
  return x;
}

/// C after each of several runs.
std::vector<std::vector<double>> products(const Context& context, const GemmDescription& d, const std::string& kernel,
                                          const std::vector<double>& a, const std::vector<double>& b, int runs) {
  const Result<Plan> plan = Plan::make(d, {.backend = Backend::cuda,
                                           .kernel = kernel,
                                           .memory = Memory::device,
                                           .parameters = "SPLIT_K=1 CLUSTER_K=0"});  // all of K in one chunk
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return {};
  }
  const auto bytes = [](const std::vector<double>& x) { return std::ssize(x) * std::int64_t{sizeof(double)}; };
  std::vector<std::vector<double>> results(static_cast<std::size_t>(runs),
                                           std::vector<double>(static_cast<std::size_t>(d.m * d.n)));
  Result<DeviceMemory> on_device[] = {context.allocate(bytes(a)), context.allocate(bytes(b)),
                                      context.allocate(bytes(results[0]))};
  for (const Result<DeviceMemory>& memory : on_device) EXPECT_TRUE(memory.ok()) << memory.status().message();
  auto& [da, db, dc] = on_device;
  EXPECT_TRUE(da.value().upload(a.data(), bytes(a)).ok() && db.value().upload(b.data(), bytes(b)).ok());
  for (std::vector<double>& c : results) {
    EXPECT_TRUE(dc.value().fill_bytes(0xff).ok());
    const Status status =
        plan.value().run({.a = da.value().at(), .b = db.value().at(), .c = dc.value().at()}, context.execution());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(dc.value().download(c.data(), bytes(c)).ok());
  }
  return results;
}

TEST(F64StagesOnDevice, HaveTheSameBitsInEveryLayout) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const std::vector<double> a = uniform(shape.m * shape.k, 1);
  const std::vector<double> b = uniform(shape.k * shape.n, 2);
  const std::vector<double> a_by_columns = by_columns(a, shape.m, shape.k);
  const std::vector<double> b_by_columns = by_columns(b, shape.k, shape.n);
  const GemmDescription plain = contiguous(f64_types, shape.m, shape.n, shape.k, 1);
  const auto others = products(context.value(), plain, "sm80_f64_mma", a, b, 1);
  if (others.empty()) GTEST_SKIP() << "sm80_f64_mma cannot run here";
  std::vector<double> first;
  for (const bool a_is_transposed : {false, true})
    for (const bool b_is_transposed : {false, true}) {
      GemmDescription d = plain;
      if (a_is_transposed) d.a = {1, shape.m};
      if (b_is_transposed) d.b = {1, shape.k};
      for (const std::vector<double>& c :
           products(context.value(), d, "sm90_f64_mma", a_is_transposed ? a_by_columns : a,
                    b_is_transposed ? b_by_columns : b, 3)) {
        if (first.empty()) {
          first = c;
          int wrong = 0;  // both are within 4096 * 2^-53 of sums of 4096 products
          for (std::size_t i = 0; i < c.size(); ++i) wrong += std::abs(c[i] - others[0][i]) <= 0x1p-28 ? 0 : 1;
          EXPECT_EQ(wrong, 0);
        }
        EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(double)), 0)
            << (a_is_transposed ? "A by columns " : "") << (b_is_transposed ? "B by columns" : "");
      }
    }
  if (first.empty()) GTEST_SKIP() << "sm90_f64_mma cannot run here";
}

}  // namespace
}  // namespace exactile::test
