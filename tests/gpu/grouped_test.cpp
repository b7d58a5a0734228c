// SPDX-License-Identifier: Apache-2.0
// Grouped products on a GPU: the bytes of one reproducible product a group, whatever the routing; nothing written
// outside of C whatever the offsets; one captured graph for every routing.
#include <algorithm>
#include <random>

#include "exactile/interop/cuda.hpp"
#include "support/check_case.hpp"

namespace exactile::test {
namespace {

using Offsets = std::vector<std::int64_t>;

constexpr std::string_view configurations[] = {"", "BM=128 BN=256 CLUSTER_N=2", "BM=128 BN=256 CLUSTER_N=1",
                                               "BM=128 BN=128 CLUSTER_N=2", "BM=128 BN=128 CLUSTER_N=1"};

DeviceMemory uploaded(const Context& context, const void* data, std::int64_t bytes) {
  Result<DeviceMemory> memory = context.allocate(bytes);
  if (!memory.ok()) ADD_FAILURE() << memory.status().message();
  EXPECT_TRUE(memory.value().upload(data, bytes).ok());
  return std::move(memory).value();
}

DeviceMemory filled(const Context& context, ElementType type, std::int64_t rows, std::int64_t columns,
                    const OperandLayout& layout, std::int64_t count, verification::Part part) {
  const std::int64_t elements =
      (count - 1) * layout.batch_stride + (rows - 1) * layout.row_stride + (columns - 1) * layout.column_stride + 1;
  std::vector<std::byte> host(static_cast<std::size_t>(elements * size_in_bytes(type)), std::byte{0xff});
  verification::fill(verification::Fill::normal, 1, type, rows, columns, layout, count, host.data(), part);
  return uploaded(context, host.data(), std::ssize(host));
}

/// Contiguous rows; B by columns, as weights are, or by rows. `c_pad`: elements between rows of C.
GroupedDescription grouped(GemmTypes types, std::int64_t groups, std::int64_t total_rows, std::int64_t n,
                           std::int64_t k, bool b_by_columns = true, std::int64_t c_pad = 0) {
  const std::int64_t line = 16 / size_in_bytes(types.input);  // TMA reads rows of whole 16 bytes
  const std::int64_t k_pitch = (k + line - 1) / line * line, n_pitch = (n + 7) / 8 * 8;
  return {.types = types,
          .groups = groups,
          .total_rows = total_rows,
          .n = n,
          .k = k,
          .a = {.row_stride = k_pitch},
          .b = {.row_stride = b_by_columns ? 1 : n_pitch,
                .column_stride = b_by_columns ? k_pitch : 1,
                .batch_stride = b_by_columns ? n * k_pitch : k * n_pitch},
          .c = {.row_stride = n + c_pad}};
}

/// How offsets are understood that nobody can refuse.
Offsets clamped(const Offsets& offsets, std::int64_t total_rows) {
  Offsets all;
  std::int64_t least = 0;
  for (const std::int64_t offset : offsets) all.push_back(least = std::clamp(offset, least, total_rows));
  return all;
}

/// Groups of random sizes, a third of them empty, from the first row or a little behind it.
Offsets random_offsets(std::int64_t groups, std::int64_t total_rows, unsigned seed) {
  std::mt19937 generator(seed);
  Offsets sizes, offsets{static_cast<std::int64_t>(generator() % 3)};
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t left = total_rows - offsets.back();
    const std::int64_t size = generator() % 3 == 0 ? 0 : static_cast<std::int64_t>(generator() % 300);
    offsets.push_back(offsets.back() + std::min(left, size));
  }
  return offsets;
}

/// What groups of the type keep.
Accuracy accuracy_of(GemmTypes types) {
  return size_in_bytes(types.input) == 1 ? Accuracy::reduced : Accuracy::standard;
}

/// A and B in device memory, and a C with a margin on either side.
class Routed {
 public:
  Routed(const Context& context, const GroupedDescription& d, int c_offset = 0)
      : context_(context),
        d_(d),
        first_(margin + c_offset),
        a_(filled(context, d.types.input, d.total_rows, d.k, d.a, 1, verification::Part::a)),
        b_(filled(context, d.types.input_b, d.k, d.n, d.b, d.groups, verification::Part::b)),
        row_scales_(filled(context, ElementType::f32, 1, d.total_rows, {.row_stride = 0}, 1, verification::Part::a)),
        column_scales_(
            filled(context, ElementType::f32, 1, d.groups * d.n, {.row_stride = 0}, 1, verification::Part::b)),
        c_(filled(context, d.types.output, 1,
                  d.total_rows * d.c.row_stride + 2 * margin / size_in_bytes(d.types.output), {.row_stride = 0}, 1,
                  verification::Part::c)) {
    before_ = result();
  }
  [[nodiscard]] GroupedArguments arguments(const DeviceMemory& offsets, Scalar alpha, Scalar beta) const {
    return {.a = a_.at(),
            .b = b_.at(),
            .c = c_.at(first_),
            .offsets = static_cast<const std::int64_t*>(offsets.at()),
            .alpha = alpha,
            .beta = beta,
            .row_scales = row_scales_.at(),
            .column_scales = column_scales_.at()};
  }
  /// All of the memory that C lies in.
  [[nodiscard]] std::vector<std::byte> result() const {
    std::vector<std::byte> host(static_cast<std::size_t>(c_.bytes()));
    EXPECT_TRUE(c_.download(host.data(), c_.bytes()).ok());
    return host;
  }
  void reset() { EXPECT_TRUE(c_.upload(before_.data(), std::ssize(before_)).ok()); }
  /// The same memory after a product for each group.
  [[nodiscard]] std::vector<std::byte> expected(const Offsets& offsets, Scalar alpha, Scalar beta) {
    reset();
    for (std::size_t g = 0; g + 1 < offsets.size(); ++g) {
      GemmDescription product{.types = d_.types,
                              .m = offsets[g + 1] - offsets[g],
                              .n = d_.n,
                              .k = d_.k,
                              .a = d_.a,
                              .b = d_.b,
                              .c = d_.c,
                              .row_scales = d_.row_scales,
                              .column_scales = d_.column_scales};
      product.b.batch_stride = 0;
      const std::int64_t row = std::min(offsets[g], d_.total_rows - 1);
      const std::int64_t in = size_in_bytes(d_.types.input), out = size_in_bytes(d_.types.output);
      const Status status = gemm(
          product,
          {.a = a_.at(row * d_.a.row_stride * in),
           .b = b_.at(static_cast<std::int64_t>(g) * d_.b.batch_stride * in),
           .c = c_.at(first_ + row * d_.c.row_stride * out),
           .alpha = alpha,
           .beta = beta,
           .row_scales = row_scales_.at(row * 4),
           .column_scales = column_scales_.at(static_cast<std::int64_t>(g) * d_.n * 4)},
          {.backend = Backend::cuda, .accuracy = accuracy_of(d_.types), .memory = Memory::device, .reproducible = true},
          context_.execution());
      EXPECT_TRUE(status.ok()) << status.message();
    }
    std::vector<std::byte> bytes = result();
    reset();
    return bytes;
  }

 private:
  static constexpr std::int64_t margin = 4096;

  Context context_;
  GroupedDescription d_;
  std::int64_t first_;  ///< byte of C
  DeviceMemory a_, b_, row_scales_, column_scales_, c_;
  std::vector<std::byte> before_;
};

void expect_groups(const Context& context, const GroupedDescription& d, const Offsets& offsets,
                   std::string_view parameters, Scalar alpha = 1, Scalar beta = 0, int c_offset = 0) {
  const auto plan = GroupedPlan::make(d, {.backend = Backend::cuda,
                                          .accuracy = accuracy_of(d.types),
                                          .memory = Memory::device,
                                          .parameters = std::string(parameters)});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Routed routed(context, d, c_offset);
  const auto expected = routed.expected(clamped(offsets, d.total_rows), alpha, beta);
  const DeviceMemory there = uploaded(context, offsets.data(), std::ssize(offsets) * 8);
  const Status status = plan.value().run(routed.arguments(there, alpha, beta), context.execution());
  ASSERT_TRUE(status.ok()) << status.message();
  const auto result = routed.result();
  const auto differs = std::ranges::mismatch(result, expected).in1 - result.begin();
  EXPECT_TRUE(result == expected) << plan.value().explain() << "differs at byte " << differs << " of " << result.size()
                                  << ", row " << (differs - 4096) / (d.c.row_stride * size_in_bytes(d.types.output));
}

#define CONTEXT_OR_SKIP()                                                                                             \
  const auto opened = Context::make(Backend::cuda);                                                                   \
  if (!opened.ok()) GTEST_SKIP() << "no device: " << opened.status().message();                                       \
  const Context& context = opened.value();                                                                            \
  if (const auto probe = GroupedPlan::make(grouped({ElementType::bf16, ElementType::bf16}, 1, 8, 8, 8), on_device()); \
      probe.status().code() == StatusCode::device_unavailable)                                                        \
  GTEST_SKIP() << "no device: " << probe.status().message()

GemmOptions on_device() { return {.backend = Backend::cuda, .memory = Memory::device}; }

constexpr GemmTypes all_types[] = {{ElementType::bf16, ElementType::bf16},   {ElementType::bf16, ElementType::f32},
                                   {ElementType::f16, ElementType::f16},     {ElementType::f16, ElementType::f32},
                                   {ElementType::f8e4m3, ElementType::bf16}, {ElementType::f8e4m3, ElementType::f32}};

TEST(GroupedCuda, HasTheBytesOfReproducibleProducts) {
  CONTEXT_OR_SKIP();
  for (const GemmTypes types : all_types)
    for (const std::string_view parameters : configurations)
      for (const bool b_by_columns : {true, false}) {
        if (size_in_bytes(types.input) == 1 && !b_by_columns) continue;  // no kernel reads it
        expect_groups(context, grouped(types, 9, 1500, 520, 200, b_by_columns), random_offsets(9, 1500, 1), parameters);
        expect_groups(context, grouped(types, 3, 700, 264, 64, b_by_columns), {0, 1, 699, 700}, parameters);
      }
}

TEST(GroupedCuda, RowsAndColumnsOfGroupsHaveScales) {
  CONTEXT_OR_SKIP();
  for (const GemmTypes types : all_types)
    for (const bool by_rows : {false, true}) {
      GroupedDescription d = grouped(types, 9, 1500, 520, 208);
      d.row_scales = by_rows;
      d.column_scales = true;
      expect_groups(context, d, random_offsets(9, 1500, 2), "", 2, 1);
      d.c.row_stride = 523;  // C is stored otherwise
      expect_groups(context, d, random_offsets(9, 1500, 3), "");
    }
}

TEST(GroupedCuda, ManyGroupsAndManyTiles) {
  CONTEXT_OR_SKIP();
  const GemmTypes types = all_types[0];
  for (unsigned seed = 1; seed <= 4; ++seed) {
    expect_groups(context, grouped(types, 100, 9000, 1032, 136), random_offsets(100, 9000, seed), "");
    expect_groups(context, grouped(types, 70, 4500, 256, 72, false), random_offsets(70, 4500, seed), "");
  }
  Offsets few(1001, 5);  // rows in the first, the last and one between
  std::fill(few.begin() + 1, few.begin() + 500, 300);
  std::fill(few.begin() + 500, few.begin() + 1000, 450);
  few.back() = 451;
  expect_groups(context, grouped(types, 1000, 460, 128, 64), few, "");
  expect_groups(context, grouped(types, 3, 5000, 1024, 1024), {0, 0, 5000, 5000}, "");
}

TEST(GroupedCuda, EveryWayToStoreC) {
  CONTEXT_OR_SKIP();
  const Offsets offsets{1, 18, 18, 150, 299};
  for (const GemmTypes types : all_types) {
    expect_groups(context, grouped(types, 4, 300, 300, 72), offsets, "");             // rows that are no vectors
    expect_groups(context, grouped(types, 4, 300, 257, 72, true, 2), offsets, "");    // shifted rows
    expect_groups(context, grouped(types, 4, 300, 256, 72), offsets, "", 1, 0, 4);    // a C that is not aligned
    expect_groups(context, grouped(types, 4, 300, 256, 72), offsets, "", 2, 0);       // alpha
    expect_groups(context, grouped(types, 4, 300, 256, 72), offsets, "", 1, 1);       // beta
    expect_groups(context, grouped(types, 4, 300, 8, 8), offsets, "");                // one block of K, few columns
    expect_groups(context, grouped(types, 2, 40, 256, 72), {0, 3, 40}, "");           // few rows
    expect_groups(context, grouped(types, 4, 300, 256, 2048, true, 8), offsets, "");  // gaps between rows
  }
}

TEST(GroupedCuda, OffsetsOfAnyKindWriteInsideOfCAlone) {
  CONTEXT_OR_SKIP();
  const GroupedDescription d = grouped(all_types[0], 4, 300, 264, 72);
  for (const Offsets& offsets :
       {Offsets{-5, 100, 40, 1000, 2}, Offsets{300, 0, 0, 0, 0}, Offsets{INT64_MIN, INT64_MAX, INT64_MIN, -1, 0},
        Offsets{1000, 1001, 1002, 1003, 1004}, Offsets{0, 299, 299, 298, 301}})
    expect_groups(context, d, offsets, "");
}

TEST(GroupedCuda, OneGraphServesEveryRouting) {
  CONTEXT_OR_SKIP();
  const GroupedDescription d = grouped(all_types[0], 40, 3000, 520, 200);
  const auto plan = GroupedPlan::make(d, on_device());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Routed routed(context, d);
  Offsets offsets = random_offsets(40, 3000, 7);
  DeviceMemory there = uploaded(context, offsets.data(), std::ssize(offsets) * 8);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_TRUE(plan.value().run(routed.arguments(there, 1, 0), interop::on(stream)).ok());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (unsigned seed = 10; seed < 14; ++seed) {
    offsets = random_offsets(40, 3000, seed);
    const auto expected = routed.expected(offsets, 1, 0);
    ASSERT_TRUE(there.upload(offsets.data(), there.bytes()).ok());
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_TRUE(routed.result() == expected) << "seed " << seed;
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(GroupedCuda, FactorsAndAddressesThereIsNoKernelForAreRefused) {
  CONTEXT_OR_SKIP();
  const GroupedDescription good = grouped(all_types[0], 4, 300, 264, 72);
  const auto plan = GroupedPlan::make(good, on_device());
  ASSERT_TRUE(plan.ok());
  const Routed routed(context, good);
  GroupedArguments arguments = routed.arguments(uploaded(context, Offsets(5).data(), 40), 0, 0);
  EXPECT_EQ(plan.value().run(arguments, context.execution()).code(), StatusCode::unsupported);
  arguments.alpha = 1;
  arguments.a = static_cast<const char*>(arguments.a) + 2;
  EXPECT_EQ(plan.value().run(arguments, context.execution()).code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace exactile::test
