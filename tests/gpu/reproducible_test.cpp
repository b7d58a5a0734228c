// SPDX-License-Identifier: Apache-2.0
// GemmOptions::reproducible on the GPU: the bytes of an element follow from k, its row of A and its column of B.
#include <algorithm>
#include <random>
#include <thread>

#include "cuda/kernel_list.hpp"
#include "cuda/model/rank.hpp"
#include "cuda/order_of_sums.hpp"
#include "cuda/runtime/device.hpp"
#include "exactile/interop/cuda.hpp"
#include "gpu/reproducible_product.hpp"

namespace exactile::test {
namespace {

Context context_here() {
  Result<Context> context = Context::make(Backend::cuda);
  EXPECT_TRUE(context.ok()) << context.status().message();
  return std::move(context).value();
}

/// One test a kind, so that shards can have a part of them.
class ReproducibleKind : public testing::TestWithParam<Kind> {
 protected:
  const Kind& kind() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(OnDevice, ReproducibleKind, testing::ValuesIn(kinds()), [](const auto& kind) {
  return test_name({"of", kind.param.types, kind.param.accuracy});
});

TEST_P(ReproducibleKind, WhateverTheNumberOfRowsIs) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  Whole whole(context, kind(), 257, 72, 1000);
  for (std::int64_t m = 1; m <= 257; ++m) whole.expect_part({257 - m, m, m % 5, 1 + m % 67}, static_cast<int>(m % 175));
}

TEST_P(ReproducibleKind, WhateverTheNumberOfTermsIs) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  std::mt19937 dice(2);
  for (const std::int64_t k : {1, 40, 63, 64, 65, 129, 1024, 4096, 8192, 33000}) {
    Whole whole(context, kind(), 300, 200, k, k == 1024 ? Fill::wide_range : Fill::normal);
    for (const std::int64_t m : {1, 2, 4, 8, 9, 16, 17, 64, 65, 128, 200, 256, 257}) {
      const auto n = static_cast<std::int64_t>(1 + dice() % 200);
      whole.expect_part({300 - m, m, 200 - n, n}, static_cast<int>(dice() % 175));
    }
  }
}

TEST_P(ReproducibleKind, InLargerProducts) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  std::mt19937 dice(3);
  Whole whole(context, kind(), 4700, 560, 1088);
  for (int i = 0; i < 20; ++i) {
    const auto m = static_cast<std::int64_t>(258 + dice() % 4440);
    whole.expect_part({4700 - m, m, 0, 560 - 24 * i}, i % 2 == 0 ? 0 : static_cast<int>(dice() % 175));
  }
  whole.expect_part({77, 1, 5, 1}, 0);
}

/// The same panels of f64 are multiplied by other tiles, splits of K and batches.
TEST(ReproducibleOnDevice, UnderCompensated) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  std::mt19937 dice(4);
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::bf16})
    for (const std::int64_t k : {64, 700, 5000}) {
      Whole whole(context, {{type, type}, Accuracy::compensated}, 300, 200, k, Fill::cancelling);
      for (const std::int64_t m : {1, 2, 8, 17, 64, 65, 129, 257}) {
        const auto n = static_cast<std::int64_t>(1 + dice() % 200);
        whole.expect_part({300 - m, m, 200 - n, n}, static_cast<int>(dice() % 175));
      }
    }
}

/// So many numbers, in device memory.
DeviceMemory numbers(const Context& context, ElementType type, std::int64_t count) {
  Bytes values(static_cast<std::size_t>(count * size_in_bytes(type)));
  verification::fill(Fill::normal, 3, type, 1, count, {.row_stride = count}, 1, values.data());
  Result<DeviceMemory> memory = context.allocate(std::ssize(values));
  EXPECT_TRUE(memory.ok() && memory.value().upload(values.data(), std::ssize(values)).ok());
  return std::move(memory).value();
}

/// Everything that the planner may choose from for a part of C; or the first and one in `of` configurations, which has
/// been each of them after as many turns.
void expect_one_order(const Context& context, const Kind& kind, Whole& whole, const Part& part, int variant,
                      std::size_t turn = 0, std::size_t of = 1) {
  const cuda::Device& device = cuda::devices().front();
  const DeviceMemory bias = numbers(context, kind.types.output, part.n);
  GemmDescription d = whole.description(part, variant);
  const plan::Problem problem{
      .description = d, .accuracy = kind.accuracy, .memory = Memory::device, .reproducible = true};
  d.bias = Bias::per_column;
  d.activation = Activation::gelu;
  Bytes biased;
  for (const cuda::Kernel* kernel : cuda::kernels()) {
    if (!cuda::model::can_do(*kernel, problem, device)) continue;
    for (const cuda::Candidate& c : kernel->candidates(problem, device)) {
      if (!cuda::may_offer(problem, device.compute_capability, kernel->name, c.configuration)) continue;
      GemmOptions options = options_of(kind);
      options.kernel = kernel->name;
      if (!sizes_of(c.configuration).empty()) options.parameters = exact_pin(c.configuration);
      const std::size_t lot = std::hash<std::string>()(options.kernel + options.parameters);
      if (!biased.empty() && (lot + turn) % of != 0) continue;
      SCOPED_TRACE(options.kernel + " " + options.parameters);
      EXPECT_TRUE(whole.run(part, variant, options) == whole.expected(part)) << whole.describe(part, variant);
      // A product by alpha that is not rounded before the bias is added would show here.
      const Bytes more = whole.run(part, variant, options, [&](const Plan&, GemmArguments arguments) {
        arguments.alpha = 0.7;
        arguments.bias = bias.at();
        const Result<Plan> plan = Plan::make(d, options);
        return plan.ok() ? plan.value().run(arguments, context.execution()) : plan.status();
      });
      if (biased.empty()) biased = more;
      EXPECT_TRUE(more == biased) << name_of(kind) << ", alpha, bias and gelu";
    }
  }
  EXPECT_FALSE(biased.empty()) << name_of(kind);
}

TEST_P(ReproducibleKind, ByEveryConfigurationThatIsOffered) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  const Part part{0, 140, 0, 264};
  const std::size_t of = tests_all() ? 1 : 4;
  std::size_t turn = 0;
  for (const std::int64_t k : {40, 128, 1000, 4096}) {
    Whole whole(context, kind(), part.m, part.n, k);
    for (const int variant : {0, 1, 12, 24}) expect_one_order(context, kind(), whole, part, variant, turn++, of);
    ++turn;  // so that a configuration has another variant with the next K
  }
}

/// f32 of few rows or columns is summed by a kernel of its own, which splits the other operand by scales that it has to
/// guess: here are elements for which it guesses wrong, that no slices hold, and that are not finite.
TEST(ReproducibleOnDevice, FewRowsOfF32HaveTheBitsOfMany) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  const Kind kind{{ElementType::f32, ElementType::f32}};
  constexpr std::int64_t m = 200, n = 300;
  std::mt19937 dice(8);
  for (const auto& [fill, is_spread] : {std::pair{Fill::normal, false},
                                        {Fill::normal, true},
                                        {Fill::wide_range, true},
                                        {Fill::cancelling, false},
                                        {Fill::special_values, false}})
    for (const std::int64_t k : {64, 100, 333, 1024, 4500, 20000}) {
      SCOPED_TRACE(std::string(verification::to_string(fill)) + (is_spread ? ", spread" : ""));
      Whole whole(context, kind, m, n, k, fill, is_spread);
      for (const std::int64_t few : {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 63, 64}) {
        const auto rows = static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>(m - few)),
                   columns = static_cast<std::int64_t>(dice() % 9);
        expect_one_order(context, kind, whole, {rows, few, columns, n - columns}, static_cast<int>(dice() % 175));
        expect_one_order(context, kind, whole, {0, m - columns, rows, few}, static_cast<int>(dice() % 175));
      }
    }
}

/// alpha, beta, a bias and an activation, and scales of rows and columns.
TEST(ReproducibleOnDevice, WithAllThatMayFollowASum) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  for (const Kind& kind : kinds())
    for (const bool has_scales : {false, true}) {
      constexpr std::int64_t m = 150, n = 136, k = 700;
      Whole whole(context, kind, m, n, k);
      const auto sums = accumulator_type(kind.types.input);
      const DeviceMemory vector = numbers(context, has_scales ? sums : kind.types.output, m);
      Result<DeviceMemory> c = context.allocate(m * n * 8);
      ASSERT_TRUE(c.ok());
      const auto rows = [&](std::int64_t row, std::int64_t count) {
        GemmDescription d = whole.description({row, count, 0, n}, 0);
        d.c = {.row_stride = n};
        d.bias = has_scales ? Bias::none : Bias::per_column;
        d.activation = Activation::gelu;
        d.row_scales = d.column_scales = has_scales;
        GemmArguments arguments = whole.arguments({row, count, 0, n}, 0);
        arguments.c = c.value().at(row * n * size_in_bytes(kind.types.output));
        arguments.alpha = 0.7;
        arguments.beta = -0.3;
        arguments.bias = arguments.column_scales = vector.at();
        arguments.row_scales = vector.at(row * size_in_bytes(sums));
        const Result<Plan> plan = Plan::make(d, options_of(kind));
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        ASSERT_TRUE(plan.value().run(arguments, context.execution()).ok());
      };
      const auto result = [&] {
        Bytes bytes(static_cast<std::size_t>(m * n * size_in_bytes(kind.types.output)));
        EXPECT_TRUE(c.value().download(bytes.data(), std::ssize(bytes)).ok());
        return bytes;
      };
      ASSERT_TRUE(c.value().fill_bytes(0x3c).ok());
      rows(0, m);
      const Bytes at_once = result();
      ASSERT_TRUE(c.value().fill_bytes(0x3c).ok());
      for (std::int64_t row = 0, count = 1; row < m; row += count, count = std::min(m - row, 2 * count + 1))
        rows(row, count);
      EXPECT_TRUE(result() == at_once) << name_of(kind) << (has_scales ? ", scaled" : ", bias and gelu");
    }
}

/// A batch, prepared operands, a graph, another stream, operands in host memory.
TEST(ReproducibleOnDevice, HoweverItIsCalled) {
  SKIP_WITHOUT_GPU();
  const Context context = context_here();
  const Context other = context_here();
  const Part part{100, 200, 0, 260};
  for (const Kind& kind : kinds()) {
    Whole whole(context, kind, 300, 260, 600);
    const Bytes expected = whole.expected(part);
    const auto expect_same = [&](const char* how, const auto& enqueue) {
      EXPECT_TRUE(whole.run(part, 0, options_of(kind), enqueue) == expected) << name_of(kind) << ", " << how;
    };
    expect_same("in a batch of 25 times 8 rows", [&](const Plan& plan, const GemmArguments& arguments) {
      GemmDescription d = plan.description();
      d.m = 8;
      d.batch_count = 25;
      d.a.batch_stride = 8 * d.a.row_stride;
      d.c.batch_stride = 8 * d.c.row_stride;
      const Result<Plan> batch = Plan::make(d, options_of(kind));
      return batch.ok() ? batch.value().run(arguments, context.execution()) : batch.status();
    });
    expect_same("prepared", [&](const Plan& plan, const GemmArguments& arguments) {
      const Result<PreparedOperand> a = plan.prepare(Operand::a, arguments.a, context.execution());
      const Result<PreparedOperand> b = plan.prepare(Operand::b, arguments.b, context.execution());
      if (!a.ok() || !b.ok()) return a.ok() ? b.status() : a.status();
      return plan.run({.c = arguments.c, .prepared_a = &a.value(), .prepared_b = &b.value()}, context.execution());
    });
    expect_same("on another stream", [&](const Plan& plan, const GemmArguments& arguments) {
      if (Status s = context.synchronize(); !s.ok()) return s;
      if (Status s = plan.run(arguments, other.execution()); !s.ok()) return s;
      return other.synchronize();
    });
    expect_same("in a graph", [&](const Plan& plan, const GemmArguments& arguments) -> Status {
      const auto stream = static_cast<cudaStream_t>(context.execution().queue);
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t executable = nullptr;
      EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
      const Status status = plan.run(arguments, interop::on(stream));
      EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
      EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
      EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
      return status;
    });

    GemmDescription d = contiguous_case(kind.types, 300, 260, 600).description;
    Bytes a(static_cast<std::size_t>(300 * 600 * size_in_bytes(kind.types.input)));
    Bytes b(static_cast<std::size_t>(600 * 260 * size_in_bytes(kind.types.input)));
    Bytes c(whole.c().size());
    verification::fill(Fill::normal, 7, kind.types.input, 300, 600, d.a, 1, a.data(), verification::Part::a);
    verification::fill(Fill::normal, 7, kind.types.input, 600, 260, d.b, 1, b.data(), verification::Part::b);
    GemmOptions options = options_of(kind);
    options.memory = Memory::host;
    const Status status = gemm(d, {.a = a.data(), .b = b.data(), .c = c.data()}, options);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(c == whole.c()) << name_of(kind) << ", operands in host memory";
  }
}

TEST(ReproducibleOnDevice, WhatCannotKeepItRefuses) {
  SKIP_WITHOUT_GPU();
  const Kind complex{{ElementType::cf32, ElementType::cf32}};
  const Result<Plan> refused = Plan::make(contiguous_case(complex.types, 16, 16, 100).description, options_of(complex));
  EXPECT_EQ(refused.status().code(), StatusCode::unsupported);
  const Kind f32{{ElementType::f32, ElementType::f32}};
  GemmOptions options = options_of(f32);
  const Result<Plan> plan = Plan::make(contiguous_case(f32.types, 1, 600, 600).description, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_NE(plan.value().explain().find("order "), std::string::npos) << plan.value().explain();
  options.kernel = "gemv";
  const Status status = Plan::make(contiguous_case(f32.types, 1, 600, 600).description, options).status();
  EXPECT_NE(status.message().find("depends on more than k"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace exactile::test
