// SPDX-License-Identifier: Apache-2.0
// Many callers at once, callers within callers, and how many threads a call takes.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>
#include <tuple>
#include <vector>

#include "support/check_case.hpp"
#include "support/matrices.hpp"
#include "support/subprocess.hpp"

namespace exactile::test {
namespace {

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};
constexpr GemmTypes f64{ElementType::f64, ElementType::f64};

/// A product with the bits that are due.
class KnownProduct {
 public:
  KnownProduct(GemmTypes types, std::int64_t size, std::uint64_t seed)
      : description_(contiguous(types, size, size, size)), matrices_(description_, seed) {
    static_cast<void>(right(1));
    due_ = matrices_.c();
    known_ = true;
  }
  /// Multiplies again; whether the bits came out.
  [[nodiscard]] bool right(int threads) {
    matrices_.clear_c();
    const bool done = gemm(description_, matrices_.arguments(), {.threads = threads}).ok();
    return done && (!known_ || matrices_.c() == due_);
  }

 private:
  GemmDescription description_;
  Matrices matrices_;
  std::vector<std::byte> due_;
  bool known_ = false;
};

/// Runs `body(t)` on `count` threads at once.
template <class Body>
void at_once(int count, Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(body, t);
  for (std::thread& thread : threads) thread.join();
}

TEST(Callers, EightAtOnce) {
  std::atomic<int> wrong = 0;
  at_once(8, [&](int t) {
    KnownProduct small(f32, 20 + t, static_cast<std::uint64_t>(t));
    KnownProduct large(t % 2 == 0 ? f32 : f64, 220 + 7 * t, static_cast<std::uint64_t>(t));
    for (int repeat = 0; repeat < 10; ++repeat) {
      if (!small.right(4)) ++wrong;
      if (!large.right(1 + (t + repeat) % 5)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Callers, OnePlanForAll) {
  const GemmDescription d = contiguous(f32, 230, 240, 250);
  const Result<Plan> plan = Plan::make(d, {.threads = 3});
  ASSERT_TRUE(plan.ok());
  Matrices reference(d, 1);
  ASSERT_TRUE(plan.value().run(reference.arguments()).ok());
  std::atomic<int> wrong = 0;
  at_once(8, [&](int) {
    Matrices mine(d, 1);
    for (int repeat = 0; repeat < 5; ++repeat) {
      mine.clear_c();
      if (!plan.value().run(mine.arguments()).ok() || mine.c() != reference.c()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Callers, SharedInputsAreOnlyRead) {
  const GemmDescription d = contiguous(f64, 210, 220, 200);
  Matrices shared(d, 2);
  ASSERT_TRUE(gemm(d, shared.arguments()).ok());
  std::atomic<int> wrong = 0;
  at_once(4, [&](int) {
    Matrices mine(d, 3);
    GemmArguments arguments = shared.arguments();
    arguments.c = mine.arguments().c;
    for (int repeat = 0; repeat < 5; ++repeat)
      if (!gemm(d, arguments, {.threads = 2}).ok() || mine.c() != shared.c()) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Callers, CallersWithinCallers) {
  std::atomic<int> wrong = 0;
  at_once(3, [&](int t) {
    KnownProduct outer(f32, 230, static_cast<std::uint64_t>(t));
    if (!outer.right(4)) ++wrong;
    at_once(3, [&](int u) {
      KnownProduct inner(f64, 215, static_cast<std::uint64_t>(10 * t + u));
      for (int repeat = 0; repeat < 3; ++repeat)
        if (!inner.right(4)) ++wrong;
    });
    if (!outer.right(2)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Callers, ThreadsThatComeAndGo) {
  std::atomic<int> wrong = 0;
  for (int round = 0; round < 40; ++round)
    at_once(2, [&](int t) {
      KnownProduct product(f32, 210 + round, static_cast<std::uint64_t>(t));
      if (!product.right(3)) ++wrong;
    });
  EXPECT_EQ(wrong, 0);
}

int tasks() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

/// Eight callers that want four threads each share the workers rather than having three each.
TEST(Callers, DoNotOversubscribe) {
  // In a child, which starts with no workers.
  EXPECT_EQ(exit_code_of_child([] {
              std::atomic<int> most = 0;
              at_once(8, [&](int t) {
                KnownProduct product(f32, 256, static_cast<std::uint64_t>(t));
                for (int repeat = 0; repeat < 10; ++repeat) {
                  if (!product.right(4)) most = 1000;
                  most = std::max(most.load(), tasks());
                }
              });
              return most <= 1 + 8 + 3 ? 0 : most.load();
            }),
            0);
}

TEST(Callers, SmallProductsStayOnTheirThread) {
  EXPECT_EQ(exit_code_of_child([] {
              KnownProduct product(f32, 32, 1);
              for (int repeat = 0; repeat < 10; ++repeat)
                if (!product.right(16)) return 99;
              return tasks();
            }),
            1);
}

class Environment : public testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }
  static void forget() {
    unsetenv("EXACTILE_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
  }
};

TEST_F(Environment, OwnVariableBeforeOpenMps) {
  const int usable = default_threads();
  EXPECT_GE(usable, 1);
  setenv("OMP_NUM_THREADS", "5", 1);
  EXPECT_EQ(default_threads(), 5);
  setenv("EXACTILE_NUM_THREADS", "3", 1);
  EXPECT_EQ(default_threads(), 3);
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(default_threads(), 3);
  unsetenv("EXACTILE_NUM_THREADS");
  EXPECT_EQ(default_threads(), usable);
}

TEST_F(Environment, NonsenseIsNoSetting) {
  const int usable = default_threads();
  for (const char* nonsense : {"", "0", "-3", "many", "3.5", "99999999999999999999", "65537", " 4 x"}) {
    setenv("EXACTILE_NUM_THREADS", nonsense, 1);
    EXPECT_EQ(default_threads(), usable) << nonsense;
    setenv("OMP_NUM_THREADS", "2", 1);
    EXPECT_EQ(default_threads(), 2) << nonsense;
    unsetenv("OMP_NUM_THREADS");
  }
  unsetenv("EXACTILE_NUM_THREADS");
  setenv("OMP_NUM_THREADS", "4,2", 1);  // OpenMP: one number a nesting level
  EXPECT_EQ(default_threads(), 4);
}

TEST_F(Environment, PlansTakeTheirThreads) {
  const GemmDescription d = contiguous(f32, 600, 600, 600);
  const auto threads = [&](int asked) {
    const Result<Plan> plan = Plan::make(d, {.threads = asked});
    return plan.ok() ? plan.value().summary().threads : -1;
  };
  setenv("EXACTILE_NUM_THREADS", "3", 1);
  EXPECT_EQ(threads(0), 3);
  EXPECT_EQ(threads(2), 2);  // asked for in the call: before the environment
  EXPECT_EQ(threads(1), 1);
  setenv("EXACTILE_NUM_THREADS", "1", 1);
  EXPECT_EQ(threads(0), 1);
  EXPECT_EQ(threads(4), 4);
}

TEST_F(Environment, CallsFollowAChange) {
  KnownProduct product(f32, 300, 4);
  for (const char* count : {"1", "4", "2", "7", "1"}) {
    setenv("EXACTILE_NUM_THREADS", count, 1);
    EXPECT_TRUE(product.right(0)) << count;
  }
}

/// What a fresh process makes of environment and affinity.
TEST_F(Environment, FreshProcesses) {
  EXPECT_EQ(output_of("EXACTILE_NUM_THREADS=6 OMP_NUM_THREADS=2 " PRINT_THREADS), "6\n");
  EXPECT_EQ(output_of("OMP_NUM_THREADS=2 " PRINT_THREADS), "2\n");
  if (std::system("taskset -c 0 true > /dev/null 2>&1") == 0) {
    EXPECT_EQ(output_of("taskset -c 0 " PRINT_THREADS), "1\n");
    EXPECT_EQ(output_of("EXACTILE_NUM_THREADS=2 taskset -c 0 " PRINT_THREADS), "2\n");
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Runs `work` on a thread with so much stack.
void run_with_stack(std::size_t bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread{};
  const auto body = [](void* given) -> void* {
    (*static_cast<const std::function<void()>*>(given))();
    return nullptr;
  };
  const int failure = pthread_create(&thread, &attributes, body, const_cast<std::function<void()>*>(&work));
  pthread_attr_destroy(&attributes);
  ASSERT_EQ(failure, 0);
  pthread_join(thread, nullptr);
}

/// What plan.hpp promises, the planner's own part included. A caller that needs more meets the guard page and dies.
TEST(Callers, NeedLittleStack) {
  constexpr std::size_t promised = 64 << 10;
  std::vector<KernelOfType> all = planner_for_all_types();
  for (const KernelOfType& kernel : available_kernels()) all.push_back(kernel);
  for (const KernelOfType& kernel : all)
    for (const auto& [m, n, k] : {std::tuple{70, 80, 90}, {300, 200, 300}, {3, 4, 5}, {1, 500, 500}}) {
      const GemmDescription d = contiguous(kernel.types, m, n, k);
      Matrices matrices(d, 3);
      Status status;
      run_with_stack(promised, [&] {
        status = gemm(d, matrices.arguments(), {.kernel = kernel.kernel, .accuracy = kernel.accuracy, .threads = 2});
      });
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::unsupported) << kernel.kernel << status.message();
    }
}
#endif

}  // namespace
}  // namespace exactile::test
