// SPDX-License-Identifier: Apache-2.0
// The estimates of f32, f64 and bf16 kernels on an H200: the least is that of the kernel or tile which
// docs/measurements/2026-11-22-h200-f32.md, 2026-11-22-h200-narrow.md, 2026-11-22-h200-survey.md,
// 2026-11-23-h200-f64.md, 2026-11-23-h200-f32-middle.md and 2026-11-23-h200-narrow.md found fastest.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "cuda/kernels/dmma/dmma_kernels.hpp"
#include "cuda/kernels/outer/outer_kernels.hpp"
#include "cuda/kernels/simt/simt_kernels.hpp"
#include "cuda/kernels/sm80/sm80_kernels.hpp"
#include "cuda/kernels/sm90/narrow/plan.hpp"
#include "cuda/kernels/sm90/sm90_kernels.hpp"
#include "gpu/h200.hpp"
#include "gpu/row_major.hpp"

namespace exactile::cuda {
namespace {

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};
constexpr GemmTypes f64{ElementType::f64, ElementType::f64};
constexpr GemmTypes bf16{ElementType::bf16, ElementType::bf16};

const Kernel* const f32_kernels[] = {&sm90_f32_fp16x3_wgmma,
                                     &sm90_f32_fp16x3_rs_a_wgmma,
                                     &sm90_f32_fp16x3_rs_b_wgmma,
                                     &sm90_f32_fp16x3_rr_wgmma,
                                     &sm90_f32_bf16x6_wgmma,
                                     &sm80_f32_fp16x3_mma,
                                     &outer_product,
                                     &short_sums,
                                     &simt_f32_128x128,
                                     &simt_f32_64x128,
                                     &simt_f32_64x64,
                                     &simt_f32_32x32,
                                     &simt_f32_8x128,
                                     &simt_f32_pieces,
                                     &simt_f32_few_rows};

const Kernel* const bf16_kernels[] = {
    &sm90_bf16_wgmma_128x256,    &sm90_bf16_wgmma_192x192,    &sm90_bf16_wgmma_128x192,    &sm90_bf16_wgmma_128x160,
    &sm90_bf16_wgmma_128x128,    &sm90_bf16_wgmma_128x64,     &sm90_bf16_wgmma_64x40,      &sm90_bf16_wgmma_128x16,
    &sm90_bf16_wgmma_64x16,      &sm90_bf16_wgmma_128x256_k2, &sm90_bf16_wgmma_128x128_k2, &sm90_bf16_wgmma_128x128_k4,
    &sm90_bf16_wgmma_64x128,     &sm90_bf16_wgmma_64x64,      &sm90_bf16_wgmma_64x96_k2,   &sm90_bf16_wgmma_128x256_c64,
    &sm90_bf16_wgmma_64x128_c32, &sm90_bf16_wgmma_64x64_c32,  &sm90_bf16_few_rows,         &sm90_bf16_few_columns,
    &sm90_bf16_wgmma_192x144,    &sm90_bf16_wgmma_128x96_k2,  &sm90_bf16_wgmma_64x48_k2,   &sm90_bf16_wgmma_64x32_k4,
    &sm90_bf16_wgmma_128x160_c32};

std::string_view least_estimate(const GemmDescription& d, std::span<const Kernel* const> kernels) {
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

/// Products of row-major matrices.
struct Choice {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::string_view kernel;  ///< or how the blocking that it prints begins
  std::int64_t batch = 1;
};

void expect_choice(const Choice& c, GemmTypes types, std::span<const Kernel* const> kernels) {
  EXPECT_EQ(least_estimate(test::row_major(types, c.m, c.n, c.k, c.batch), kernels), c.kernel)
      << c.batch << " products of " << c.m << " x " << c.n << " x " << c.k;
}

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
                          Choice{900, 900, 900, sliced},
                          Choice{1000, 1000, 1000, sliced},
                          Choice{1024, 1024, 1024, sliced},
                          Choice{1280, 1280, 1280, sliced},
                          Choice{1400, 1400, 1400, sliced},
                          Choice{1536, 1536, 1536, sliced},
                          Choice{1537, 1535, 1500, sliced},
                          Choice{1024, 1024, 2048, sliced},
                          Choice{768, 768, 768, rr},
                          Choice{1024, 512, 1024, rr},
                          Choice{512, 1024, 1024, rs_b},
                          Choice{500, 1000, 1000, rs_b},
                          Choice{512, 1024, 2048, rs_b},
                          Choice{512, 1536, 1024, sliced},
                          Choice{512, 3072, 1024, sliced},
                          Choice{640, 1024, 1024, sliced},
                          Choice{64, 4096, 4096, rs_b},
                          Choice{4096, 128, 4096, rs_a},
                          Choice{128, 128, 65536, rr},
                          Choice{256, 256, 16384, rr},
                          Choice{4096, 4096, 64, rr},
                          Choice{128, 128, 128, rr, 1024},
                          Choice{256, 256, 256, rr, 100},
                          Choice{512, 512, 512, "simt_f32_32x32"},
                          Choice{150, 150, 150, "simt_f32_32x32"},
                          Choice{300, 300, 300, "simt_f32_32x32"},
                          Choice{640, 640, 640, rr},
                          Choice{450, 450, 450, "simt_f32_32x32"},
                          Choice{513, 513, 513, "simt_f32_32x32"},
                          Choice{601, 601, 601, "simt_f32_32x32"},
                          Choice{769, 769, 769, sliced},
                          Choice{1001, 130, 2000, sliced},
                          Choice{33, 301, 7000, "simt_f32_32x32"},
                          Choice{4095, 127, 4097, rs_a},
                          Choice{64, 64, 4096, "simt_f32_pieces"},
                          Choice{32, 1024, 1024, "simt_f32_pieces"},
                          Choice{128, 1024, 1024, "simt_f32_pieces"},
                          Choice{7680, 16, 2560, rs_a},
                          Choice{4096, 32, 4096, rs_a},
                          Choice{512, 512, 512, sliced, 100},
                          Choice{2048, 1024, 1, "outer_product"},
                          Choice{4096, 4096, 4, "short_sums"},
                          Choice{2, 1000000, 2, "short_sums"},
                          Choice{1000000, 10, 10, "short_sums"},
                          Choice{1, 4096, 4096, "simt_f32_few_rows"},
                          Choice{1, 4096, 14336, "simt_f32_few_rows"},
                          Choice{4, 4096, 4096, "simt_f32_few_rows"},
                          Choice{1, 512, 65536, "simt_f32_few_rows"}}) {
    expect_choice(c, f32, f32_kernels);
  }
}

TEST(Choice, OfBf16IsWhatWasFastestOnAnH200) {
  constexpr std::string_view streaming = "sm90_bf16_wgmma_64x16";
  constexpr std::string_view few_rows = "sm90_bf16_few_rows";
  constexpr std::string_view wide = "sm90_bf16_wgmma_128x256";
  for (const Choice& c : {Choice{512, 512, 512, "sm90_bf16_wgmma_64x64"},
                          Choice{1024, 1024, 1024, "sm90_bf16_wgmma_64x128"},
                          Choice{1000, 1000, 1000, "sm90_bf16_wgmma_128x64"},
                          Choice{1200, 1200, 1200, "sm90_bf16_wgmma_128x128"},
                          Choice{1520, 1520, 1520, "sm90_bf16_wgmma_128x160"},
                          Choice{1600, 1600, 1600, "sm90_bf16_wgmma_128x160"},
                          Choice{2240, 2240, 2240, "sm90_bf16_wgmma_128x160"},
                          Choice{2400, 2400, 2400, "sm90_bf16_wgmma_128x192"},
                          Choice{2000, 2000, 2000, wide},
                          Choice{3000, 3000, 3000, "sm90_bf16_wgmma_192x192"},
                          Choice{3072, 3072, 3072, "sm90_bf16_wgmma_192x192"},
                          Choice{257, 1024, 4096, "sm90_bf16_wgmma_64x96_k2"},
                          Choice{512, 4096, 14336, "sm90_bf16_wgmma_128x128"},
                          Choice{2048, 2048, 2048, wide},
                          Choice{4096, 4096, 4096, wide},
                          Choice{8192, 8192, 8192, wide},
                          Choice{1024, 1024, 65536, wide},
                          Choice{16, 6144, 4096, streaming},
                          Choice{8, 28672, 4096, streaming},
                          Choice{16, 28672, 4096, streaming},
                          Choice{16, 7680, 512, streaming},
                          Choice{16, 4096, 4096, few_rows},
                          Choice{1, 4096, 14336, few_rows},
                          Choice{8, 2048, 16384, few_rows},
                          Choice{24, 5120, 5120, "sm90_bf16_wgmma_64x32_k4"},
                          Choice{24, 1024, 4096, "sm90_bf16_wgmma_64x32_k4"},
                          Choice{32, 512, 32768, "sm90_bf16_wgmma_64x32_k4"},
                          Choice{40, 3000, 3000, "sm90_bf16_wgmma_64x48_k2"},
                          Choice{48, 11008, 4096, "sm90_bf16_wgmma_64x48_k2"},
                          Choice{160, 3000, 3000, "sm90_bf16_wgmma_128x96_k2"},
                          Choice{192, 4096, 4096, "sm90_bf16_wgmma_128x96_k2"},
                          Choice{1848, 1848, 1848, "sm90_bf16_wgmma_192x144"},
                          Choice{2504, 1200, 800, "sm90_bf16_wgmma_192x144"},
                          Choice{64, 64, 65536, "sm90_bf16_wgmma_64x64_c32"},
                          Choice{512, 8, 500000, "sm90_bf16_wgmma_128x64"},
                          Choice{304, 304, 30000, "sm90_bf16_wgmma_128x160_c32"},
                          Choice{512, 512, 65536, "sm90_bf16_wgmma_128x256_c64"}})
    expect_choice(c, bf16, bf16_kernels);
}

/// How the kernel of a tile is laid over the device.
struct Clusters {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  sm90::narrow::TileShape tile;
  int rows;
  int columns;
  bool is_transposed = false;
};

TEST(Choice, OfClustersOfBf16IsWhatWasFastestOnAnH200) {
  for (const Clusters& c :
       {Clusters{1440, 1440, 1440, {128, 160}, 2, 2, true}, Clusters{1520, 1520, 1520, {128, 160}, 2, 2, true},
        Clusters{2176, 2176, 2176, {128, 160}, 1, 2, true}, Clusters{2240, 2240, 2240, {128, 160}, 1, 2, true},
        Clusters{1800, 1800, 1800, {192, 192}, 2, 2}, Clusters{2200, 2200, 2200, {128, 192}, 2, 2},
        Clusters{2400, 2400, 2400, {128, 192}, 2, 1}, Clusters{3800, 3800, 3800, {128, 192}, 2, 2},
        Clusters{3000, 3000, 3000, {192, 192}, 1, 2}, Clusters{4400, 4400, 4400, {128, 256}, 2, 1},
        Clusters{128, 4096, 4096, {64, 64}, 2, 1}}) {
    const GemmDescription d = test::row_major(bf16, c.m, c.n, c.k);
    const sm90::narrow::Layout layout = sm90::narrow::choose_layout(d, ElementType::bf16, c.tile, {}, h200);
    EXPECT_TRUE(layout.cluster.rows == c.rows && layout.cluster.columns == c.columns &&
                layout.is_transposed == c.is_transposed)
        << c.m << " x " << c.n << " x " << c.k << ": " << layout.cluster.rows << " x " << layout.cluster.columns
        << (layout.is_transposed ? " as C^T" : "");
  }
}

// At 4096^3 128x112 was up to 1.7 % ahead, less than rounds differ by.
TEST(Choice, OfTilesOfF64IsWhatWasFastestOnAnH200) {
  for (const Choice& c : {Choice{8192, 8192, 8192, "BM=128 BN=128"},
                          Choice{4096, 4096, 4096, "BM=128 BN=128"},
                          Choice{2048, 2048, 2048, "BM=128 BN=128"},
                          Choice{1000, 1000, 1000, "BM=128 BN=64"},
                          Choice{4097, 4095, 4099, "BM=128 BN=128"},
                          Choice{64, 4096, 4096, "BM=128 BN=64 BK=16 stages=8 split-K=4"},
                          Choice{4096, 128, 4096, "BM=128 BN=128 BK=16 stages=6 split-K=4"},
                          Choice{128, 128, 65536, "BM=128 BN=64 BK=16 stages=8 split-K=64"},
                          Choice{4096, 4096, 64, "BM=128 BN=112"},
                          Choice{512, 512, 512, "BM=32 BN=64"},
                          Choice{768, 768, 768, "BM=64 BN=80"},
                          Choice{1280, 1280, 1280, "BM=128 BN=112"},
                          Choice{1536, 1536, 1536, "BM=96 BN=96"},
                          Choice{1800, 1800, 1800, "BM=96 BN=96"},
                          Choice{2500, 2500, 2500, "BM=128 BN=80"},
                          Choice{257, 1024, 4096, "BM=96 BN=96"},
                          Choice{16, 4096, 4096, "BM=64 BN=16 BK=16 stages=5 split-K=4"},
                          Choice{16, 6144, 4096, "BM=32 BN=16"},
                          Choice{64, 64, 1024, "BM=16 BN=32"},
                          Choice{64, 64, 4096, "BM=16 BN=32 BK=16 stages=5 split-K=4"},
                          Choice{8, 48, 5120, "BM=16 BN=32 BK=16 stages=5 split-K=5"},
                          Choice{7680, 16, 2560, "BM=32 BN=64"}}) {
    const plan::Problem problem{.description = test::row_major(f64, c.m, c.n, c.k, c.batch), .memory = Memory::device};
    const std::string blocking = sm90_f64_mma.prepare(problem, h200)->blocking();
    EXPECT_TRUE(blocking.starts_with(c.kernel)) << c.m << " x " << c.n << " x " << c.k << ": " << blocking;
  }
}

}  // namespace
}  // namespace exactile::cuda
