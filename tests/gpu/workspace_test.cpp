// SPDX-License-Identifier: Apache-2.0
// f32 kernels that keep slices refuse a product whose workspace would take more than half of the device's memory, and
// no other for its workspace.
#include <gtest/gtest.h>

#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/native/plan.hpp"
#include "gpu/h200.hpp"
#include "gpu/row_major.hpp"

namespace exactile::cuda {
namespace {

/// `batch` products of row-major matrices of one size. `b_is_shared`: they have one B.
plan::Problem products(std::int64_t size, std::int64_t k, std::int64_t batch, bool b_is_shared) {
  GemmDescription d = test::row_major({ElementType::f32, ElementType::f32}, size, size, k, batch);
  if (b_is_shared) d.b.batch_stride = 0;
  return {.description = d, .memory = Memory::device};
}

TEST(Workspace, OfSlicesIsAtMostHalfOfTheDevicesMemory) {
  const Kernel* const kernels[] = {&sm90_f32_fp16x3_wgmma, &sm90_f32_fp16x3_split_a_wgmma,
                                   &sm90_f32_fp16x3_split_b_wgmma, &sm90_f32_fp16x3_mma};
  for (const Kernel* kernel : kernels) {
    int refused = 0, taken = 0;
    for (const bool b_is_shared : {false, true})
      for (std::int64_t size = 32; size <= 1 << 17; size *= 4)
        for (std::int64_t k = 64; k <= 1 << 13; k *= 2)
          for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{1} << 10, std::int64_t{1} << 20}) {
            const plan::Problem problem = products(size, k, batch, b_is_shared);
            const std::string_view why = kernel->refuses(problem, h200);
            const bool is_large = why.find("too much memory") != std::string_view::npos;
            if (!why.empty() && !is_large) continue;
            const std::int64_t bytes =
                kernel->make(problem, h200, kernel->candidates(problem, h200).front().configuration)->workspace_bytes();
            EXPECT_EQ(bytes > h200.memory_bytes / 2, is_large)
                << kernel->name << ": " << batch << " x " << size << " x " << size << " x " << k << ", " << bytes;
            (is_large ? refused : taken) += 1;
          }
    EXPECT_GT(refused, 0) << kernel->name;
    EXPECT_GT(taken, 0) << kernel->name;
  }
}

/// What lists elements that slices do not hold takes as much as the slices of so small products.
TEST(Workspace, CountsWhatTilesTake) {
  constexpr std::int64_t many = 1 << 20;
  EXPECT_EQ(sm90_f32_fp16x3_wgmma.refuses(products(32, 64, many, false), h200), "");
  EXPECT_NE(sm90_f32_fp16x3_wgmma.refuses(products(32, 128, many, false), h200), "");
}

/// Of complex products: four real numbers for each element of B, the other operand where its terms are not contiguous,
/// and sums where a real product cannot be the end.
TEST(Workspace, CountsWhatComplexProductsExpand) {
  constexpr std::int64_t m = 96, n = 64, k = 80, element = 16;
  GemmDescription d = test::row_major({ElementType::cf64, ElementType::cf64}, m, n, k);
  Device ampere = h200;
  ampere.compute_capability = 80;
  const Kernel& kernel = complex_f64_mma;
  const auto product_on = [&](const Device& device) {
    const plan::Problem problem{.description = d, .memory = Memory::device};
    EXPECT_EQ(kernel.refuses(problem, device), "");
    return kernel.make(problem, device, kernel.candidates(problem, device).front().configuration);
  };
  const GemmArguments plain, turning{.alpha = std::complex<double>(0, 1)};
  const auto before = [&] { return product_on(ampere); };
  const auto in_kernel = [&] { return product_on(h200); };
  EXPECT_EQ(before()->workspace_bytes_for(plain), 2 * element * k * n);
  EXPECT_EQ(before()->workspace_bytes_for(turning), 2 * element * k * n + element * m * n);
  EXPECT_EQ(before()->workspace_bytes(), before()->workspace_bytes_for(turning));
  EXPECT_EQ(in_kernel()->workspace_bytes_for(plain), 0);
  EXPECT_EQ(in_kernel()->workspace_bytes(), element * m * n);
  d.a = {.row_stride = 1, .column_stride = m};
  d.b = {.row_stride = 1, .column_stride = k};
  EXPECT_EQ(before()->workspace_bytes_for(plain), 2 * element * k * n + element * m * k);
  EXPECT_EQ(in_kernel()->workspace_bytes_for(plain), element * k * n + element * m * k);
  d.m = 8;
  d.a = {.row_stride = k};
  EXPECT_EQ(in_kernel()->workspace_bytes_for(plain), element * k * d.m + element * d.m * n)
      << "the rows and their sums";
  d = test::row_major(d.types, 8, n, k, 100);
  d.b = {.row_stride = 1, .column_stride = k};
  EXPECT_EQ(in_kernel()->workspace_bytes_for(plain), 100 * element * 8 * (k + n)) << "whoever shares the batch";
  d = test::row_major(d.types, m, n, k, std::int64_t{1} << 30);
  EXPECT_NE(kernel.refuses({.description = d, .memory = Memory::device}, h200), "");
}

/// 4 GB of A and one B, where each product's own B would be 140 GB.
TEST(Workspace, ASharedOperandIsCopiedOnce) {
  GemmDescription d = test::row_major({ElementType::bf16, ElementType::bf16}, 128, 4096, 4096, 4096);
  EXPECT_NE(sm90::native::why_impossible(d, ElementType::bf16, {}, h200), "");
  d.b.batch_stride = 0;
  EXPECT_EQ(sm90::native::why_impossible(d, ElementType::bf16, {}, h200), "");
}

}  // namespace
}  // namespace exactile::cuda
