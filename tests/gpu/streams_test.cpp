// SPDX-License-Identifier: Apache-2.0
// Host threads with a stream of their own each, all running at once: neither operands nor workspaces may be mixed up.
#include <thread>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

/// Somewhat larger products than those of all kinds, the first that the kernel takes.
std::optional<Shape> shape_for(const Context& context, const KernelOfType& kernel, std::int64_t larger) {
  for (const Shape& s : shapes_of_all_kinds) {
    const auto grown = [&](std::int64_t size) { return size > 100 ? size + larger : size; };
    const Shape shape{grown(s.m), grown(s.n), grown(s.k)};
    if (DeviceProduct(context, kernel, shape.m, shape.n, shape.k).plan()) return shape;
  }
  return std::nullopt;
}

/// Runs the product often on its own context and counts the results that differ from the first.
int count_differences(const KernelOfType& kernel, std::int64_t larger) {
  constexpr int runs = 20;
  const Result<Context> context = Context::make(Backend::cuda);
  if (!context.ok()) return runs;
  const std::optional<Shape> shape = shape_for(context.value(), kernel, larger);
  EXPECT_TRUE(shape) << test_name(kernel) << " took none of the products";
  if (!shape) return runs;
  DeviceProduct product(context.value(), kernel, shape->m, shape->n, shape->k);
  std::vector<std::byte> first;
  int differences = 0;
  for (int run = 0; run < runs; ++run) {
    product.poison();
    // Several runs one behind the other, so that the streams overlap for a while.
    for (int repeat = 0; repeat < 5; ++repeat)
      if (!product.plan()->run(product.arguments(), context.value().execution()).ok()) return runs;
    std::vector<std::byte> result = product.result();
    if (first.empty()) first = result;
    differences += result == first ? 0 : 1;
  }
  return differences;
}

TEST(Streams, ProductsOnSeveralStreamsDoNotDisturbEachOther) {
  SKIP_WITHOUT_GPU();
  const std::vector<KernelOfType> all = cuda_kernels();
  constexpr std::size_t threads = 4;
  ASSERT_GE(all.size(), threads);
  for (std::size_t begin = 0; begin < all.size(); begin += threads) {
    std::vector<int> differences(threads);
    {
      std::vector<std::jthread> callers;
      for (std::size_t t = 0; t < threads; ++t)
        callers.emplace_back([&, t] {
          differences[t] = count_differences(all[(begin + t) % all.size()], 20 + 33 * static_cast<std::int64_t>(t));
        });
    }
    for (std::size_t t = 0; t < threads; ++t)
      EXPECT_EQ(differences[t], 0) << test_name(all[(begin + t) % all.size()]) << " beside others";
  }
}

TEST(Streams, OnePlanIsRunFromSeveralThreadsAtOnce) {
  SKIP_WITHOUT_GPU();
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types.input != ElementType::f32) continue;
    const Result<Context> context = Context::make(Backend::cuda);
    ASSERT_TRUE(context.ok()) << context.status().message();
    const DeviceProduct model(context.value(), kernel, 200, 100, 300);
    if (!model.plan()) continue;
    ASSERT_TRUE(model.plan()->run(model.arguments(), context.value().execution()).ok());
    const std::vector<std::byte> expected = model.result();
    std::vector<std::jthread> callers;
    for (int t = 0; t < 3; ++t)
      callers.emplace_back([&] {
        const Result<Context> own = Context::make(Backend::cuda);
        ASSERT_TRUE(own.ok());
        DeviceProduct product(own.value(), kernel, 200, 100, 300);
        for (int run = 0; run < 10; ++run) {
          product.poison();
          ASSERT_TRUE(model.plan()->run(product.arguments(), own.value().execution()).ok());
          EXPECT_EQ(product.result(), expected) << test_name(kernel);
        }
      });
  }
}

/// A stream keeps scratch memory for its next run. Threads that enqueue on one stream at once have their own, and so
/// have more streams than may keep some.
TEST(Streams, ScratchMemoryIsNobodyElses) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  int with_workspace = 0;
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types.input != ElementType::f32) continue;
    constexpr Shape shape{72, 40, 4096};  // K is split where it can be
    const DeviceProduct model(context.value(), kernel, shape.m, shape.n, shape.k);
    if (!model.plan() || model.plan()->summary().workspace_bytes == 0) continue;
    ++with_workspace;
    ASSERT_TRUE(model.plan()->run(model.arguments(), context.value().execution()).ok());
    const std::vector<std::byte> expected = model.result();
    constexpr int callers = 4, runs = 5, others = 40;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < callers; ++t)
        threads.emplace_back([&] {
          DeviceProduct product(context.value(), kernel, shape.m, shape.n, shape.k);
          for (int run = 0; run < runs; ++run) {
            product.poison();
            ASSERT_TRUE(model.plan()->run(product.arguments(), context.value().execution()).ok());
            EXPECT_EQ(product.result(), expected) << test_name(kernel) << " by several threads on one stream";
          }
        });
    }
    if (with_workspace > 1) continue;
    std::vector<Context> contexts;
    for (int i = 0; i < others; ++i) {
      Result<Context> other = Context::make(Backend::cuda);
      ASSERT_TRUE(other.ok());
      DeviceProduct product(other.value(), kernel, shape.m, shape.n, shape.k);
      ASSERT_TRUE(product.plan()->run(product.arguments(), other.value().execution()).ok());
      EXPECT_EQ(product.result(), expected) << test_name(kernel) << " on stream " << i;
      contexts.push_back(std::move(other).value());
    }
  }
  EXPECT_GT(with_workspace, 0);
}

}  // namespace
}  // namespace exactile::test
