// SPDX-License-Identifier: Apache-2.0
// Grouped products on a GPU, in TFLOP/s over the real rows: the one launch of GroupedPlan in each of its configurations
// (or those named by --parameters), a plan for each group launched one after the other, and cuBLAS's GemmEx a group.
// All take turns; medians. Weights lie as they do in models, n x k with contiguous k.
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "exactile/exactile.hpp"
#include "exactile/value_or_throw.hpp"

namespace {

using namespace exactile;

struct Sizes {
  std::int64_t groups = 128, n = 7168, k = 2048, least = 64, most = 1024;
  double mean = 512;  ///< rows of a group; 0: as they are drawn
  int rounds = 7;
  std::int64_t shift = 0;  ///< elements by which C is off a multiple of 256 bytes
};

/// Log-uniform rows, all multiplied by one factor and cut off at the ends until they have the mean.
std::vector<std::int64_t> draw_offsets(const Sizes& s) {
  std::mt19937_64 dice(1);
  std::uniform_real_distribution<double> uniform(std::log(s.least), std::log(s.most));
  std::vector<double> rows(static_cast<std::size_t>(s.groups));
  for (double& r : rows) r = std::exp(uniform(dice));
  for (int pass = 0; s.mean > 0 && pass < 20; ++pass) {
    double sum = 0;
    for (const double r : rows) sum += r;
    const double factor = s.mean * static_cast<double>(s.groups) / sum;
    for (double& r : rows) r = std::clamp(r * factor, static_cast<double>(s.least), static_cast<double>(s.most));
  }
  std::vector<std::int64_t> offsets{0};
  for (const double r : rows) offsets.push_back(offsets.back() + std::llround(r));
  return offsets;
}

/// bf16 numbers of a normal distribution: 64 MiB of them, again and again.
DeviceMemory normal_numbers(const Context& context, std::int64_t elements) {
  static const std::vector<BFloat16> block = [] {
    std::minstd_rand dice(7);
    std::normal_distribution<float> normal;
    std::vector<BFloat16> numbers(1 << 20);
    for (BFloat16& x : numbers) x = BFloat16(normal(dice));
    std::vector<BFloat16> many;
    for (int i = 0; i < 32; ++i) many.insert(many.end(), numbers.begin(), numbers.end());
    return many;
  }();
  DeviceMemory memory = value_or_throw(context.allocate(elements * 2));
  const auto block_bytes = static_cast<std::int64_t>(block.size()) * 2;
  for (std::int64_t at = 0; at < memory.bytes(); at += block_bytes)
    or_throw(memory.upload(block.data(), std::min(block_bytes, memory.bytes() - at), at));
  return memory;
}

struct Operands {
  Sizes sizes;
  std::vector<std::int64_t> offsets;
  DeviceMemory a, b, c, there;

  [[nodiscard]] std::int64_t rows() const { return offsets.back(); }
  [[nodiscard]] void* c_row(std::int64_t row) const { return c.at((row * sizes.n + sizes.shift) * 2); }
  [[nodiscard]] GroupedDescription description() const {
    return {.types = {ElementType::bf16, ElementType::bf16},
            .groups = sizes.groups,
            .total_rows = rows(),
            .n = sizes.n,
            .k = sizes.k,
            .a = {.row_stride = sizes.k},
            .b = {.row_stride = 1, .column_stride = sizes.k, .batch_stride = sizes.n * sizes.k},
            .c = {.row_stride = sizes.n}};
  }
};

struct Contender {
  std::string name;
  std::function<Status()> run;
  std::vector<double> seconds = {};
};

Contender of_plan(const Operands& o, const Context& context, const std::string& parameters) {
  const auto plan = value_or_throw(GroupedPlan::make(
      o.description(), {.backend = Backend::cuda, .memory = Memory::device, .parameters = parameters}));
  return {
      "GroupedPlan " + parameters, [plan, &o, execution = context.execution()] {
        return plan.run(
            {.a = o.a.at(), .b = o.b.at(), .c = o.c_row(0), .offsets = static_cast<const std::int64_t*>(o.there.at())},
            execution);
      }};
}

Contender of_plans(const Operands& o, const Context& context) {
  std::vector<Plan> plans;
  const GroupedDescription d = o.description();
  for (std::size_t g = 0; g + 1 < o.offsets.size(); ++g) {
    GemmDescription product{
        .types = d.types, .m = o.offsets[g + 1] - o.offsets[g], .n = d.n, .k = d.k, .a = d.a, .b = d.b, .c = d.c};
    product.b.batch_stride = 0;
    plans.push_back(value_or_throw(Plan::make(product, {.backend = Backend::cuda, .memory = Memory::device})));
  }
  return {"a Plan for each group", [plans, &o, execution = context.execution()]() -> Status {
            for (std::size_t g = 0; g < plans.size(); ++g) {
              const auto group = static_cast<std::int64_t>(g);
              const Status s = plans[g].run({.a = o.a.at(o.offsets[g] * o.sizes.k * 2),
                                             .b = o.b.at(group * o.sizes.n * o.sizes.k * 2),
                                             .c = o.c_row(o.offsets[g])},
                                            execution);
              if (!s.ok()) return s;
            }
            return {};
          }};
}

/// Nothing where there is no cuBLAS. C^T = W * A^T, by columns.
std::vector<Contender> of_cublas(const Operands& o, const Context& context) {
  void* library = dlopen("libcublas.so.13", RTLD_LAZY);
  if (library == nullptr) library = dlopen("libcublas.so.12", RTLD_LAZY);
  if (library == nullptr) return {};
  constexpr int transposed = 1, as_is = 0, bf16 = 14, compute_f32 = 68, any = -1;
  void* handle = nullptr;
  reinterpret_cast<int (*)(void**)>(dlsym(library, "cublasCreate_v2"))(&handle);
  reinterpret_cast<int (*)(void*, void*)>(dlsym(library, "cublasSetStream_v2"))(handle, context.execution().queue);
  using GemmEx = int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                     const void*, void*, int, int, int, int);
  auto* const gemm_ex = reinterpret_cast<GemmEx*>(dlsym(library, "cublasGemmEx"));
  return {{"cuBLAS GemmEx for each group", [=, &o]() -> Status {
             const float one = 1, zero = 0;
             const int n = static_cast<int>(o.sizes.n), k = static_cast<int>(o.sizes.k);
             for (std::size_t g = 0; g + 1 < o.offsets.size(); ++g) {
               const int rows = static_cast<int>(o.offsets[g + 1] - o.offsets[g]);
               const int error = gemm_ex(handle, transposed, as_is, n, rows, k, &one,
                                         o.b.at(static_cast<std::int64_t>(g) * o.sizes.n * o.sizes.k * 2), bf16, k,
                                         o.a.at(o.offsets[g] * o.sizes.k * 2), bf16, k, &zero, o.c_row(o.offsets[g]),
                                         bf16, n, compute_f32, any);
               if (error != 0) return {StatusCode::device_failure, "cublasGemmEx: " + std::to_string(error)};
             }
             return {};
           }}};
}

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x[x.size() / 2];
}

void race(std::vector<Contender> all, const Context& context, double operations, int rounds) {
  for (int round = -1; round < rounds; ++round)
    for (Contender& contender : all) {
      const auto seconds = value_or_throw(context.time(contender.run));
      if (round >= 0) contender.seconds.push_back(seconds);
    }
  for (const Contender& contender : all)
    std::printf("%-48s %8.3f ms  %6.1f TFLOP/s\n", contender.name.c_str(), 1e3 * median(contender.seconds),
                1e-12 * operations / median(contender.seconds));
}

Operands operands_of(const Sizes& sizes, const Context& context) {
  const auto offsets = draw_offsets(sizes);
  Operands o{sizes,
             offsets,
             normal_numbers(context, offsets.back() * sizes.k),
             normal_numbers(context, sizes.groups * sizes.n * sizes.k),
             value_or_throw(context.allocate((offsets.back() * sizes.n + sizes.shift) * 2)),
             value_or_throw(context.allocate(static_cast<std::int64_t>(offsets.size()) * 8))};
  or_throw(o.there.upload(offsets.data(), o.there.bytes()));
  std::printf("%ld groups, %ld rows in all, n = %ld, k = %ld\n", static_cast<long>(sizes.groups),
              static_cast<long>(o.rows()), static_cast<long>(sizes.n), static_cast<long>(sizes.k));
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  std::vector<std::string> parameters{""};
  bool is_alone = false;
  CLI::App app("Grouped bf16 products");
  app.add_option("--groups", sizes.groups);
  app.add_option("--n", sizes.n);
  app.add_option("--k", sizes.k);
  app.add_option("--least", sizes.least, "rows of the smallest group that may be drawn");
  app.add_option("--most", sizes.most);
  app.add_option("--mean", sizes.mean, "rows of a group; 0: as they are drawn");
  app.add_option("--rounds", sizes.rounds);
  app.add_option("--shift-c", sizes.shift, "elements by which C is not aligned");
  app.add_option("--parameters", parameters, "configurations, \"BM=128 BN=256 CLUSTER_N=2\"");
  app.add_flag("--alone", is_alone, "without a loop over groups");
  CLI11_PARSE(app, argc, argv);
  try {
    const Context context = value_or_throw(Context::make(Backend::cuda));
    const Operands o = operands_of(sizes, context);
    std::vector<Contender> all;
    for (const std::string& each : parameters) all.push_back(of_plan(o, context, each));
    if (!is_alone) {
      all.push_back(of_plans(o, context));
      for (Contender& rival : of_cublas(o, context)) all.push_back(std::move(rival));
    }
    race(std::move(all), context, operation_count(o.description().types, o.rows(), sizes.n, sizes.k), sizes.rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
