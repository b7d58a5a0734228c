// SPDX-License-Identifier: Apache-2.0
// Grouped products on a GPU, in TFLOP/s over the real rows: the one launch of GroupedPlan in each of its configurations
// (or those named by --parameters), a plan for each group launched one after the other, and cuBLAS's product a group.
// All take turns; medians. Weights lie as they do in models, n x k with contiguous k.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "comparison/ours.hpp"
#include "comparison/rivals.hpp"
#include "exactile/exactile.hpp"
#include "exactile/value_or_throw.hpp"
#include "measure/rounds.hpp"

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

/// What takes its turns.
struct Entrant {
  std::string name;
  std::function<void()> run;
};

Entrant of_plan(const Operands& o, const Context& context, const std::string& parameters) {
  const auto plan = value_or_throw(GroupedPlan::make(
      o.description(), {.backend = Backend::cuda, .memory = Memory::device, .parameters = parameters}));
  return {
      "GroupedPlan " + parameters, [plan, &o, execution = context.execution()] {
        or_throw(plan.run(
            {.a = o.a.at(), .b = o.b.at(), .c = o.c_row(0), .offsets = static_cast<const std::int64_t*>(o.there.at())},
            execution));
      }};
}

/// A product for each group, one after the other.
Entrant of_loop(const Operands& o, const comparison::NamedContender& contender) {
  const Sizes& s = o.sizes;
  auto calls = std::make_shared<std::vector<std::unique_ptr<comparison::Call>>>();
  for (std::size_t g = 0; g + 1 < o.offsets.size(); ++g) {
    const std::int64_t rows = o.offsets[g + 1] - o.offsets[g];
    calls->push_back(contender.contender->prepare({.type = ElementType::bf16,
                                                   .output = ElementType::bf16,
                                                   .m = rows,
                                                   .n = s.n,
                                                   .k = s.k,
                                                   .a = {.rows = rows, .leading = s.k},
                                                   .b = {.rows = s.n, .leading = s.k, .transposed = true},
                                                   .c = {.rows = rows, .leading = s.n}}));
  }
  return {contender.name + " for each group", [calls, &o] {
            for (std::size_t g = 0; g < calls->size(); ++g)
              (*calls)[g]->run({.a = o.a.at(o.offsets[g] * o.sizes.k * 2),
                                .b = o.b.at(static_cast<std::int64_t>(g) * o.sizes.n * o.sizes.k * 2),
                                .c = o.c_row(o.offsets[g])},
                               {}, 1);
          }};
}

void race(const std::vector<Entrant>& all, const Context& context, double operations, int rounds) {
  std::vector<measure::Series> series;
  for (const Entrant& entrant : all)
    series.push_back({.time = [&](std::int64_t calls) {
      return value_or_throw(context.time([&] {
        for (std::int64_t i = 0; i < calls; ++i) entrant.run();
        return Status();
      }));
    }});
  measure::time_rounds(series, {.least_rounds = rounds, .most_rounds = rounds, .shortest_group_seconds = 1e-3});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double seconds = summarize(series[i]).median;
    std::printf("%-48s %8.3f ms  %6.1f TFLOP/s\n", all[i].name.c_str(), 1e3 * seconds, 1e-12 * operations / seconds);
  }
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
    comparison::FoundRivals found;
    std::vector<Entrant> all;
    for (const std::string& each : parameters) all.push_back(of_plan(o, context, each));
    if (!is_alone) {
      found = comparison::find_rivals(Backend::cuda, &context);
      found.rivals.push_back(
          {"Plan", comparison::make_exactile({.backend = Backend::cuda, .kernel = {}, .context = &context})});
      for (const comparison::NamedContender& one : found.rivals)
        if (one.name == "Plan" || one.name == "cublas") all.push_back(of_loop(o, one));
    }
    race(all, context, operation_count(o.description().types, o.rows(), sizes.n, sizes.k), sizes.rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
