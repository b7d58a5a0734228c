// SPDX-License-Identifier: Apache-2.0
// A child of fork() has none of its parent's threads, and must not wait for them.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/check_case.hpp"
#include "support/matrices.hpp"
#include "support/subprocess.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};

class Fork : public testing::Test {
 protected:
  Fork() : description_(contiguous(f32, 260, 270, 280)), matrices_(description_, 21) {
    EXPECT_TRUE(gemm(description_, matrices_.arguments(), {.threads = 1}).ok());
    due_ = matrices_.c();
  }
  [[nodiscard]] bool right(int threads) {
    matrices_.clear_c();
    return gemm(description_, matrices_.arguments(), {.threads = threads}).ok() && matrices_.c() == due_;
  }

  GemmDescription description_;
  Matrices matrices_;
  std::vector<std::byte> due_;
};

TEST_F(Fork, ChildMultipliesAfterItsParent) {
  EXPECT_TRUE(right(4));
  EXPECT_EQ(exit_code_of_child([&] { return right(4) && right(2) && right(1) ? 0 : 1; }), 0);
  EXPECT_TRUE(right(4));
}

TEST_F(Fork, Grandchildren) {
  EXPECT_TRUE(right(3));
  EXPECT_EQ(exit_code_of_child([&] {
              if (!right(3)) return 1;
              if (exit_code_of_child([&] { return right(3) ? 0 : 1; }) != 0) return 2;
              return right(3) ? 0 : 3;
            }),
            0);
}

TEST_F(Fork, PlanMadeByTheParent) {
  const Result<Plan> plan = Plan::make(description_, {.threads = 4});
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(plan.value().run(matrices_.arguments()).ok());
  EXPECT_EQ(exit_code_of_child([&] {
              matrices_.clear_c();
              return plan.value().run(matrices_.arguments()).ok() && matrices_.c() == due_ ? 0 : 1;
            }),
            0);
}

TEST_F(Fork, WhileOthersMultiply) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> others;
  for (std::uint64_t t = 0; t < 3; ++t)
    others.emplace_back([&, t] {
      const GemmDescription d = contiguous(f32, 215, 216, 217);
      Matrices mine(d, t);
      while (!stop)
        if (!gemm(d, mine.arguments(), {.threads = 3}).ok()) ++wrong;
    });
  for (int child = 0; child < 30; ++child)
    EXPECT_EQ(exit_code_of_child([&] { return right(4) && right(3) ? 0 : 1; }), 0) << "child " << child;
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace exactile::test
