// SPDX-License-Identifier: Apache-2.0
// The estimates of f32 kernels on an H200: the least is that of the kernel which
// docs/measurements/2026-11-22-h200-f32.md found fastest.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cuda/kernels/outer/outer_kernels.hpp"
#include "cuda/kernels/simt/simt_kernels.hpp"
#include "cuda/kernels/sm80/sm80_kernels.hpp"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace {

/// As the runtime describes one.
constexpr Device h200{.index = 0,
                      .compute_capability = 90,
                      .multiprocessors = 132,
                      .shared_bytes_per_block = 227 << 10,
                      .l2_bytes = 60 << 20,
                      .memory_bytes = std::int64_t{139} << 30,
                      .clock_hertz = 1.98e9,
                      .memory_bytes_per_second = 4.8e12};

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};

const Kernel* const kernels[] = {&sm90_f32_fp16x3_wgmma,
                                 &sm90_f32_fp16x3_rs_a_wgmma,
                                 &sm90_f32_fp16x3_rs_b_wgmma,
                                 &sm90_f32_fp16x3_rr_wgmma,
                                 &sm90_f32_bf16x6_wgmma,
                                 &sm80_f32_fp16x3_mma,
                                 &outer_product,
                                 &simt_f32_128x128,
                                 &simt_f32_64x128,
                                 &simt_f32_64x64,
                                 &simt_f32_32x32,
                                 &simt_f32_8x128,
                                 &simt_f32_few_rows};

std::string_view least_estimate(const GemmDescription& d) {
  const plan::Problem problem{.description = d, .memory = Memory::device};
  std::string_view best;
  double least = std::numeric_limits<double>::infinity();
  for (const Kernel* kernel : kernels) {
    if (!kernel->refuses(problem, h200).empty()) continue;
    if (const double seconds = kernel->cost(problem, h200); seconds < least) {
      least = seconds;
      best = kernel->name;
    }
  }
  return best;
}

struct Choice {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::string_view kernel;
  std::int64_t batch = 1;
};

TEST(Choice, IsWhatWasFastestOnAnH200) {
  constexpr std::string_view sliced = "sm90_f32_fp16x3_wgmma";
  constexpr std::string_view rs_a = "sm90_f32_fp16x3_rs_a_wgmma";
  constexpr std::string_view rs_b = "sm90_f32_fp16x3_rs_b_wgmma";
  constexpr std::string_view rr = "sm90_f32_fp16x3_rr_wgmma";
  for (const Choice& c : {Choice{2048, 2048, 2048, sliced},
                          Choice{4096, 4096, 4096, sliced},
                          Choice{8192, 8192, 8192, sliced},
                          Choice{16384, 16384, 16384, sliced},
                          Choice{8192, 28672, 4096, sliced},
                          Choice{4097, 4095, 4099, sliced},
                          Choice{1023, 1025, 1021, sliced},
                          Choice{512, 4096, 14336, rs_b},
                          Choice{257, 1024, 4096, rs_b},
                          Choice{1000, 1000, 1000, rs_b},
                          Choice{4096, 128, 4096, rs_a},
                          Choice{128, 128, 65536, rr},
                          Choice{256, 256, 16384, rr},
                          Choice{4096, 4096, 64, rr},
                          Choice{128, 128, 128, rr, 1024},
                          Choice{256, 256, 256, rr, 100},
                          Choice{512, 512, 512, "simt_f32_32x32"},
                          Choice{1, 4096, 4096, "simt_f32_few_rows"},
                          Choice{1, 4096, 14336, "simt_f32_few_rows"},
                          Choice{4, 4096, 4096, "simt_f32_few_rows"},
                          Choice{1, 512, 65536, "simt_f32_few_rows"}}) {
    const GemmDescription d{.types = f32,
                            .m = c.m,
                            .n = c.n,
                            .k = c.k,
                            .a = {c.k, 1, c.m * c.k},
                            .b = {c.n, 1, c.k * c.n},
                            .c = {c.n, 1, c.m * c.n},
                            .batch_count = c.batch};
    EXPECT_EQ(least_estimate(d), c.kernel) << c.batch << " products of " << c.m << " x " << c.n << " x " << c.k;
  }
}

}  // namespace
}  // namespace exactile::cuda
