// SPDX-License-Identifier: Apache-2.0
// A large product of f64, or of complex numbers, in every layout: where TMA copies one operand and threads copy the
// other, much larger one element by element, the loads of what is multiplied wait behind those copies. Nothing may be
// written over before.
#include <cmath>
#include <complex>
#include <cstring>
#include <random>

#include "gpu/by_columns.hpp"
#include "gpu/device_product.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

constexpr Shape shape{64, 4096, 4096};  // B is larger than L2

double draw(std::mt19937& random, double /*of_type*/) { return std::ldexp(static_cast<double>(random()), -31) - 1; }
std::complex<double> draw(std::mt19937& random, std::complex<double> /*of_type*/) {
  const double real = draw(random, double{});
  return {real, draw(random, double{})};
}

template <class T>
std::vector<T> uniform(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& element : x) element = draw(random, T{});
  return x;
}

/// C after each of several runs.
template <class T>
std::vector<std::vector<T>> products(const Context& context, const GemmDescription& d, const std::string& kernel,
                                     const std::string& parameters, const std::vector<T>& a, const std::vector<T>& b,
                                     int runs) {
  const Result<Plan> plan =
      Plan::make(d, {.backend = Backend::cuda, .kernel = kernel, .memory = Memory::device, .parameters = parameters});
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return {};
  }
  const auto bytes = [](const std::vector<T>& x) { return std::ssize(x) * std::int64_t{sizeof(T)}; };
  std::vector<std::vector<T>> results(static_cast<std::size_t>(runs),
                                      std::vector<T>(static_cast<std::size_t>(d.m * d.n)));
  Result<DeviceMemory> on_device[] = {context.allocate(bytes(a)), context.allocate(bytes(b)),
                                      context.allocate(bytes(results[0]))};
  for (const Result<DeviceMemory>& memory : on_device) EXPECT_TRUE(memory.ok()) << memory.status().message();
  auto& [da, db, dc] = on_device;
  EXPECT_TRUE(da.value().upload(a.data(), bytes(a)).ok() && db.value().upload(b.data(), bytes(b)).ok());
  for (std::vector<T>& c : results) {
    EXPECT_TRUE(dc.value().fill_bytes(0xff).ok());
    const Status status =
        plan.value().run({.a = da.value().at(), .b = db.value().at(), .c = dc.value().at()}, context.execution());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(dc.value().download(c.data(), bytes(c)).ok());
  }
  return results;
}

/// Of `kernel`, whose sums are no farther than that from those of another one.
template <class T>
void expect_same_bits_in_every_layout(ElementType type, const std::string& kernel, const std::string& other,
                                      double distance) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const std::vector<T> a = uniform<T>(shape.m * shape.k, 1);
  const std::vector<T> b = uniform<T>(shape.k * shape.n, 2);
  const std::vector<T> a_by_columns = by_columns(a, shape.m, shape.k);
  const std::vector<T> b_by_columns = by_columns(b, shape.k, shape.n);
  const GemmDescription plain = contiguous({type, type}, shape.m, shape.n, shape.k, 1);
  const auto others = products(context.value(), plain, other, "", a, b, 1);
  if (others.empty()) GTEST_SKIP() << other << " cannot run here";
  std::vector<T> first;
  for (const bool a_is_transposed : {false, true})
    for (const bool b_is_transposed : {false, true}) {
      GemmDescription d = plain;
      if (a_is_transposed) d.a = {1, shape.m};
      if (b_is_transposed) d.b = {1, shape.k};
      for (const std::vector<T>& c :
           products(context.value(), d, kernel, "SPLIT_K=1 CLUSTER_K=0",  // one chunk
                    a_is_transposed ? a_by_columns : a, b_is_transposed ? b_by_columns : b, 3)) {
        if (first.empty()) {
          first = c;
          int wrong = 0;
          for (std::size_t i = 0; i < c.size(); ++i) wrong += std::abs(c[i] - others[0][i]) <= distance ? 0 : 1;
          EXPECT_EQ(wrong, 0);
        }
        EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(T)), 0)
            << (a_is_transposed ? "A by columns " : "") << (b_is_transposed ? "B by columns" : "");
      }
    }
  if (first.empty()) GTEST_SKIP() << kernel << " cannot run here";
}

TEST(F64StagesOnDevice, HaveTheSameBitsInEveryLayout) {
  // Both are within 4096 * 2^-53 of sums of 4096 products.
  expect_same_bits_in_every_layout<double>(ElementType::f64, "sm90_f64_mma", "sm80_f64_mma", 0x1p-28);
}
TEST(F64StagesOnDevice, HaveTheSameBitsInEveryLayoutOfComplexNumbers) {
  expect_same_bits_in_every_layout<std::complex<double>>(ElementType::cf64, "complex_f64_mma", "simt_complex",
                                                         0x1p-25);  // of 8192, in both parts
}

}  // namespace
}  // namespace exactile::test
