// SPDX-License-Identifier: Apache-2.0
// Operands prepared once on the GPU: the bits of the plain run, whatever the layout, in a graph and on several streams.
// Kernels that compute parts of C by other paths count what each did.
#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "exactile/interop/cuda.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

using namespace std::string_literals;

constexpr GemmTypes f32_types{ElementType::f32, ElementType::f32};

/// What A and B hold. Wide: every element has an exponent of its own between 2^-120 and 2^120, so that sums overflow,
/// vanish, and are made of elements far below the largest of their row.
enum class Range : std::uint8_t { normal, wide };

std::vector<float> numbers(std::int64_t count, Range range, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-120, 120);
  std::vector<float> all(static_cast<std::size_t>(count));
  for (float& x : all) x = range == Range::wide ? std::ldexp(normal(random), exponent(random)) : normal(random);
  return all;
}

std::int64_t elements_of_a(const GemmDescription& d) { return d.m * d.k * (d.a.batch_stride == 0 ? 1 : d.batch_count); }
std::int64_t elements_of_b(const GemmDescription& d) { return d.k * d.n * (d.b.batch_stride == 0 ? 1 : d.batch_count); }

/// An f32 product of any layout whose operands lie on the device.
class SlicedCase {
 public:
  SlicedCase(const Context& context, const std::string& kernel, const GemmDescription& d, Range range = Range::normal)
      : SlicedCase(context, kernel, d, numbers(elements_of_a(d), range, 1), numbers(elements_of_b(d), range, 2)) {}
  SlicedCase(const Context& context, const std::string& kernel, const GemmDescription& d, const std::vector<float>& a,
             const std::vector<float>& b)
      : context_(context), a_(uploaded(a)), b_(uploaded(b)), c_(context.allocate(d.m * d.n * d.batch_count * 4)) {
    const Result<Plan> plan = Plan::make(d, {.backend = Backend::cuda, .kernel = kernel, .memory = Memory::device});
    if (plan.ok()) plan_ = plan.value();
    EXPECT_TRUE(plan.ok() || plan.status().code() == StatusCode::unsupported) << plan.status().message();
  }

  [[nodiscard]] const std::optional<Plan>& plan() const { return plan_; }
  [[nodiscard]] const void* a() const { return a_.value().at(); }
  [[nodiscard]] const void* b() const { return b_.value().at(); }
  [[nodiscard]] void* c() const { return c_.value().at(); }
  [[nodiscard]] PreparedOperand prepare(Operand operand) const {
    Result<PreparedOperand> made = plan_->prepare(operand, operand == Operand::a ? a() : b(), context_.execution());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made).value();
  }
  /// The bytes of C after that run into NaN.
  [[nodiscard]] std::vector<std::byte> run(const GemmArguments& arguments, void* path_counts = nullptr) {
    EXPECT_TRUE(c_.value().fill_bytes(0xff).ok());
    Execution execution = context_.execution();
    execution.path_counts = path_counts;
    const Status status = plan_->run(arguments, execution);
    EXPECT_TRUE(status.ok()) << status.message();
    return result();
  }
  [[nodiscard]] std::vector<std::byte> result() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(c_.value().bytes()));
    EXPECT_TRUE(c_.value().download(bytes.data(), c_.value().bytes()).ok());
    return bytes;
  }
  void clear(Operand operand) { ASSERT_TRUE((operand == Operand::a ? a_ : b_).value().fill_bytes(0).ok()); }
  void poison() { ASSERT_TRUE(c_.value().fill_bytes(0xff).ok()); }

 private:
  [[nodiscard]] Result<DeviceMemory> uploaded(const std::vector<float>& values) const {
    const std::int64_t bytes = std::ssize(values) * 4;
    Result<DeviceMemory> memory = context_.allocate(bytes);
    EXPECT_TRUE(memory.ok() && memory.value().upload(values.data(), bytes).ok());
    return memory;
  }

  const Context& context_;
  std::optional<Plan> plan_;
  Result<DeviceMemory> a_, b_, c_;
};

/// Row-major; several tiles, K in parts, and sizes that leave remainders; C by columns; batches that share B.
std::vector<GemmDescription> layouts() {
  const auto row_major = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return contiguous_case(f32_types, m, n, k).description;
  };
  std::vector<GemmDescription> all{row_major(129, 131, 133), row_major(257, 300, 1030), row_major(2600, 2300, 260)};
  GemmDescription transposed = row_major(300, 520, 200);
  transposed.a = {1, 300};
  transposed.b = {1, 200};
  transposed.c = {1, 300};
  all.push_back(transposed);
  GemmDescription batch = row_major(150, 260, 128);
  batch.batch_count = 3;
  batch.a.batch_stride = 150 * 128;
  batch.b.batch_stride = 0;
  batch.c.batch_stride = 150 * 260;
  all.push_back(batch);
  return all;
}

std::vector<std::string> f32_kernels() {
  std::vector<std::string> names;
  for (const KernelOfType& kernel : cuda_kernels())
    if (kernel.types == f32_types && kernel.accuracy == Accuracy::standard) names.push_back(kernel.kernel);
  return names;
}

TEST(PreparedOnDevice, EveryLayoutAndCombinationGivesTheSameBits) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  int held = 0;
  for (const std::string& kernel : f32_kernels())
    for (const Range range : {Range::normal, Range::wide})
      for (const GemmDescription& d : layouts()) {
        SlicedCase product(context.value(), kernel, d, range);
        if (!product.plan()) continue;
        const std::vector<std::byte> expected = product.run({.a = product.a(), .b = product.b(), .c = product.c()});
        const PreparedOperand a = product.prepare(Operand::a);
        const PreparedOperand b = product.prepare(Operand::b);
        held += a.bytes() > 0 && b.bytes() > 0 ? 1 : 0;
        const std::string what = kernel + ", " + std::to_string(d.m) + " rows, A and B prepared: ";
        EXPECT_EQ(product.run({.b = product.b(), .c = product.c(), .prepared_a = &a}), expected) << what << "A";
        EXPECT_EQ(product.run({.a = product.a(), .c = product.c(), .prepared_b = &b}), expected) << what << "B";
        EXPECT_EQ(product.run({.c = product.c(), .prepared_a = &a, .prepared_b = &b}), expected) << what << "both";
      }
  const bool has_sliced = std::ranges::count(f32_kernels(), "sm90_f32_fp16x3_wgmma") == 1;
  EXPECT_EQ(held > 0, has_sliced);
}

TEST(PreparedOnDevice, WhatWasPreparedIsNotReadAgain) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const std::string& kernel : f32_kernels())
    for (const Operand operand : {Operand::a, Operand::b}) {
      SlicedCase product(context.value(), kernel, contiguous_case(f32_types, 260, 300, 128).description);
      if (!product.plan()) continue;
      const PreparedOperand prepared = product.prepare(operand);
      if (prepared.bytes() == 0) continue;
      const GemmArguments plain{.a = product.a(), .b = product.b(), .c = product.c()};
      GemmArguments with_prepared = plain;
      (operand == Operand::a ? with_prepared.a : with_prepared.b) = nullptr;
      (operand == Operand::a ? with_prepared.prepared_a : with_prepared.prepared_b) = &prepared;
      const std::vector<std::byte> expected = product.run(plain);
      // No caller may do this, but it shows which elements a run takes where all are within the slices' reach.
      product.clear(operand);
      EXPECT_EQ(product.run(with_prepared), expected) << kernel;
      EXPECT_NE(product.run(plain), expected) << kernel;
    }
}

/// Kernels that split one operand in registers hold the other one, and nothing else; those that split both hold none.
TEST(PreparedOnDevice, HoldsWhatIsSplitAhead) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const std::string& kernel : f32_kernels()) {
    if (!kernel.starts_with("sm90_f32_fp16x3") || kernel == "sm90_f32_fp16x3_mma") continue;  // that prepares nothing
    for (const GemmDescription& d : layouts()) {
      const SlicedCase product(context.value(), kernel, d);
      ASSERT_TRUE(product.plan()) << kernel;
      const bool splits_both = kernel == "sm90_f32_fp16x3_fused_split_wgmma";
      EXPECT_EQ(product.prepare(Operand::a).bytes() > 0, kernel != "sm90_f32_fp16x3_split_a_wgmma" && !splits_both)
          << kernel;
      EXPECT_EQ(product.prepare(Operand::b).bytes() > 0, kernel != "sm90_f32_fp16x3_split_b_wgmma" && !splits_both)
          << kernel;
    }
  }
}

TEST(PreparedOnDevice, WeightsServeEveryNumberOfRows) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const std::string& kernel : f32_kernels()) {
    SlicedCase first(context.value(), kernel, contiguous_case(f32_types, 64, 700, 300).description);
    if (!first.plan()) continue;
    const PreparedOperand weights = first.prepare(Operand::b);
    for (const std::int64_t m : {1, 200, 1000}) {
      // The same numbers in B, at another place.
      SlicedCase other(context.value(), kernel, contiguous_case(f32_types, m, 700, 300).description);
      if (!other.plan()) continue;
      const std::vector<std::byte> expected = other.run({.a = other.a(), .b = other.b(), .c = other.c()});
      EXPECT_EQ(other.run({.a = other.a(), .c = other.c(), .prepared_b = &weights}), expected) << kernel << ", " << m;
    }
  }
}

TEST(PreparedOnDevice, IsSharedByStreamsAndGraphs) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const GemmDescription d = contiguous_case(f32_types, 600, 520, 400).description;
  for (const std::string& kernel : f32_kernels()) {
    SlicedCase product(context.value(), kernel, d, Range::wide);
    if (!product.plan()) continue;
    const std::vector<std::byte> expected = product.run({.a = product.a(), .b = product.b(), .c = product.c()});
    const PreparedOperand a = product.prepare(Operand::a);
    const PreparedOperand b = product.prepare(Operand::b);
    {
      std::vector<std::jthread> callers;
      for (int t = 0; t < 2; ++t)
        callers.emplace_back([&] {
          const Result<Context> own = Context::make(Backend::cuda);
          ASSERT_TRUE(own.ok());
          SlicedCase mine(own.value(), kernel, d, Range::wide);
          for (int repeat = 0; repeat < 5; ++repeat)
            EXPECT_EQ(mine.run({.c = mine.c(), .prepared_a = &a, .prepared_b = &b}), expected) << kernel;
        });
    }

    const auto stream = static_cast<cudaStream_t>(context.value().execution().queue);
    const GemmArguments arguments{.c = product.c(), .prepared_a = &a, .prepared_b = &b};
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    const Status run = product.plan()->run(arguments, interop::on(stream));
    if (a.bytes() > 0) {
      const Status refused = product.plan()->prepare(Operand::a, product.a(), interop::on(stream)).status();
      EXPECT_EQ(refused.code(), StatusCode::invalid_argument) << refused.message();
    }
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << kernel;
    ASSERT_TRUE(run.ok()) << run.message();
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess) << kernel;
    for (int launch = 0; launch < 2; ++launch) {
      product.poison();
      ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
      EXPECT_EQ(product.result(), expected) << kernel << ", launch " << launch;
    }
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
}

std::vector<std::uint64_t> counts_in(const DeviceMemory& memory, std::size_t paths) {
  std::vector<std::uint64_t> counts(paths);
  EXPECT_TRUE(memory.download(counts.data(), std::ssize(counts) * 8).ok());
  return counts;
}

TEST(Paths, TheCounterSaysWhichWasTaken) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const std::string kernel = "sm90_f32_fp16x3_wgmma";
  if (std::ranges::count(f32_kernels(), kernel) == 0) GTEST_SKIP() << "needs compute capability 9.0";
  // 10 x 9 tiles; too many for K to be taken in parts.
  const GemmDescription d = contiguous_case(f32_types, 2560, 2300, 300).description;
  for (const Range range : {Range::normal, Range::wide}) {
    SlicedCase product(context.value(), kernel, d, range);
    ASSERT_TRUE(product.plan());
    const std::vector<Path> paths = product.plan()->summary().paths;
    ASSERT_EQ(paths.size(), 3);
    EXPECT_EQ(paths[0].name, "f16x3");
    EXPECT_EQ(paths[1].name, "bf16x6");
    EXPECT_EQ(paths[2].name, "plain");
    for (const Path& path : paths) EXPECT_NE(product.plan()->explain().find(path.when), std::string::npos) << path.when;

    Result<DeviceMemory> counters = context.value().allocate(24);
    ASSERT_TRUE(counters.ok() && counters.value().fill_bytes(0).ok());
    const GemmArguments arguments{.a = product.a(), .b = product.b(), .c = product.c()};
    const std::vector<std::byte> uncounted = product.run(arguments);
    EXPECT_EQ(product.run(arguments, counters.value().at()), uncounted);
    const std::vector<std::uint64_t> once = counts_in(counters.value(), paths.size());
    if (range == Range::normal) {
      EXPECT_EQ(once, (std::vector<std::uint64_t>{90, 0, 0}));
    } else {
      // All rows and columns are so wide that f16 is not tried.
      EXPECT_EQ(once[0], 0);
      EXPECT_EQ(once[1], 90);
    }
    // Runs add up.
    EXPECT_EQ(product.run(arguments, counters.value().at()), uncounted);
    const std::vector<std::uint64_t> twice = counts_in(counters.value(), paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(twice[i], 2 * once[i]) << paths[i].name;
  }
}

TEST(Paths, PartsOfKCountTheElementsSummedPlainly) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const std::string with_bf16 = "sm90_f32_fp16x3_wgmma";
  if (std::ranges::count(f32_kernels(), with_bf16) == 0) GTEST_SKIP() << "needs compute capability 9.0";
  for (const std::string& kernel : {with_bf16, "sm90_f32_fp16x3_split_a_wgmma"s, "sm90_f32_fp16x3_split_b_wgmma"s}) {
    SlicedCase product(context.value(), kernel, contiguous_case(f32_types, 130, 140, 2048).description, Range::wide);
    ASSERT_TRUE(product.plan());
    // As a whole word: 10 to 19 parts are parts too.
    EXPECT_EQ((product.plan()->summary().blocking + " ").find(" SPLIT_K=1 "), std::string::npos);
    const std::size_t paths = product.plan()->summary().paths.size();
    Result<DeviceMemory> counters = context.value().allocate(24);
    ASSERT_TRUE(counters.ok() && counters.value().fill_bytes(0).ok());
    static_cast<void>(product.run({.a = product.a(), .b = product.b(), .c = product.c()}, counters.value().at()));
    const std::vector<std::uint64_t> counts = counts_in(counters.value(), paths);
    EXPECT_GT(counts.front(), 0) << kernel;
    if (kernel == with_bf16) {
      EXPECT_EQ(counts[0], 1);
      EXPECT_EQ(counts[1], 0);
    }
    EXPECT_GT(counts.back(), 0) << kernel;
  }
}

/// A D or D^-1 B, D diagonal of 2^-60 to 2^60: sums of ordinary size, made of elements far below their row's largest.
void scale_along_k(std::vector<float>& elements, std::int64_t k, bool is_a) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> exponent(-60, 60);
  const std::int64_t other = std::ssize(elements) / k;
  for (std::int64_t p = 0; p < k; ++p) {
    const int e = exponent(random);
    for (std::int64_t i = 0; i < other; ++i) {
      float& x = elements[static_cast<std::size_t>(is_a ? i * k + p : p * other + i)];
      x = std::ldexp(x, is_a ? e : -e);
    }
  }
}

TEST(Paths, TilesWithoutHopeAreNotTriedAndNoBitDependsOnIt) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const std::string kernel = "sm90_f32_fp16x3_wgmma";
  if (std::ranges::count(f32_kernels(), kernel) == 0) GTEST_SKIP() << "needs compute capability 9.0";
  constexpr std::int64_t m = 1400;
  constexpr std::int64_t n = 2300;
  constexpr std::int64_t k = 300;
  std::vector<float> a = numbers(m * k, Range::normal, 1);
  std::vector<float> b = numbers(k * n, Range::normal, 2);
  scale_along_k(a, k, true);
  scale_along_k(b, k, false);
  const auto run = [&](std::int64_t rows, const std::vector<float>& left, std::vector<std::uint64_t>& counts) {
    SlicedCase product(context.value(), kernel, contiguous_case(f32_types, rows, n, k).description, left, b);
    Result<DeviceMemory> counters = context.value().allocate(24);
    EXPECT_TRUE(counters.ok() && counters.value().fill_bytes(0).ok());
    std::vector<std::byte> c =
        product.run({.a = product.a(), .b = product.b(), .c = product.c()}, counters.value().at());
    counts = counts_in(counters.value(), 3);
    return c;
  };
  std::vector<std::uint64_t> counts;
  const std::vector<std::byte> alone = run(m, a, counts);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 54, 0}));

  // The same rows between rows of ordinary range: now every tile has something to try.
  const std::vector<float> ordinary = numbers(m * k, Range::normal, 4);
  std::vector<float> mixed;
  for (std::int64_t i = 0; i < m; ++i) {
    mixed.insert(mixed.end(), a.begin() + i * k, a.begin() + (i + 1) * k);
    mixed.insert(mixed.end(), ordinary.begin() + i * k, ordinary.begin() + (i + 1) * k);
  }
  const std::vector<std::byte> among = run(2 * m, mixed, counts);
  EXPECT_EQ(counts[0], 99);
  EXPECT_EQ(counts[1], 99);
  for (std::int64_t i = 0; i < m; ++i)
    ASSERT_TRUE(std::equal(alone.begin() + i * n * 4, alone.begin() + (i + 1) * n * 4, among.begin() + 2 * i * n * 4))
        << "row " << i;
}

}  // namespace
}  // namespace exactile::test
