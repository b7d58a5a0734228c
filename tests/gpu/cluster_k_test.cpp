// SPDX-License-Identifier: Apache-2.0
// f64 whose K the CTAs of a cluster share: where it is offered, and what each CTA has.
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/kernels/kernels.hpp"
#include "gpu/h200.hpp"
#include "gpu/row_major.hpp"

namespace exactile::cuda {
namespace {

constexpr GemmTypes f64{ElementType::f64, ElementType::f64};

std::vector<Candidate> candidates_of(const Kernel& kernel, const GemmDescription& d, bool reproducible = false) {
  return kernel.candidates({.description = d, .memory = Memory::device, .reproducible = reproducible}, h200);
}

bool shares_k(const std::vector<Candidate>& all) {
  return std::ranges::any_of(all, [](const Candidate& c) { return c.configuration.cluster_k > 1; });
}

TEST(ClusterK, WhereTilesLeaveSmsIdle) {
  EXPECT_TRUE(shares_k(candidates_of(sm90_f64_mma, test::row_major(f64, 128, 64, 2816))));
  EXPECT_TRUE(shares_k(candidates_of(sm90_f64_mma, test::row_major(f64, 90, 1083, 1234))));
  EXPECT_FALSE(shares_k(candidates_of(sm90_f64_mma, test::row_major(f64, 4096, 4096, 1024)))) << "tiles enough";
  EXPECT_FALSE(shares_k(candidates_of(sm90_f64_mma, test::row_major(f64, 128, 64, 2816, 500)))) << "products enough";
  EXPECT_FALSE(shares_k(candidates_of(sm90_f64_mma, test::row_major(f64, 128, 64, 32)))) << "K of one CTA";
  EXPECT_TRUE(shares_k(candidates_of(sm90_f64_mma, test::row_major(f64, 128, 64, 8193)))) << "chunks of over 1024";
  EXPECT_FALSE(shares_k(candidates_of(sm90_f64_mma, test::row_major(f64, 128, 64, 2816), true)))
      << "chunks of a reproducible product follow from K";
  EXPECT_FALSE(shares_k(candidates_of(sm80_f64_mma, test::row_major(f64, 128, 64, 2816)))) << "has no clusters";
}

TEST(ClusterK, EveryCtaHasTermsAndAllAreTaken) {
  for (const std::int64_t k : {33, 64, 263, 549, 1000, 1031, 2816, 8192}) {
    const GemmDescription d = test::row_major(f64, 100, 60, k);
    for (const auto& [c, demand] : candidates_of(sm90_f64_mma, d)) {
      if (c.cluster_k == 0) continue;
      const auto tiles = static_cast<double>((((c.swap != 0 ? d.n : d.m) - 1) / c.bm + 1) *
                                             (((c.swap != 0 ? d.m : d.n) - 1) / c.bn + 1));
      const double ranks = demand.tiles / tiles;
      EXPECT_TRUE(ranks > c.cluster_k / 2 && ranks <= c.cluster_k) << to_string(c) << ", k = " << k;
      EXPECT_GE(ranks * demand.steps * 16, static_cast<double>(k)) << to_string(c);
      EXPECT_LT((ranks - 1) * demand.steps * 16, static_cast<double>(k)) << to_string(c) << ": a CTA without terms";
      EXPECT_TRUE(demand.side_kernels == 0 && demand.copied_bytes == 0) << "sums do not pass through memory";
      const auto product = sm90_f64_mma.make({.description = d, .memory = Memory::device}, h200, c);
      EXPECT_EQ(product->workspace_bytes(), 0) << to_string(c);
      EXPECT_NE(product->blocking().find(" CLUSTER_K=" + std::to_string(c.cluster_k)), std::string::npos);
    }
  }
}

/// Operands by elements take longer; the model is to know which are.
TEST(ClusterK, PathsCountOperandsThatPairsDoNotReach) {
  const auto path = [](const GemmDescription& d, int swap, int bm = 128) {
    for (const Candidate& c : candidates_of(sm90_f64_mma, d))
      if (c.configuration.swap == swap && c.configuration.bm == bm) return c.demand.path;
    return -1;
  };
  GemmDescription d = test::row_major(f64, 90, 1084, 1234);
  EXPECT_EQ(path(d, 0), 2) << "A by rows, B by rows";
  EXPECT_EQ(path(d, 1), 0);
  EXPECT_EQ(path(d, 0, 32), 1) << "small tiles take A by rows";
  d.b = {.row_stride = 1, .column_stride = 1234};
  EXPECT_EQ(path(d, 0), 1) << "A by rows";
  EXPECT_EQ(path(d, 0, 32), 0);
  EXPECT_EQ(path(d, 1, 32), 0);
  d = test::row_major(f64, 90, 1083, 1234);
  EXPECT_EQ(path(d, 1), 1) << "rows of B are not aligned";
  d = test::row_major(f64, 90, 1084, 1233);
  EXPECT_EQ(path(d, 1), 1) << "rows of A are not aligned";
  d.a.pointer_array = true;
  EXPECT_EQ(path(d, 1), 1);
}

}  // namespace
}  // namespace exactile::cuda
