// SPDX-License-Identifier: Apache-2.0
// How configurations are ranked, on the host: for GPUs that nobody here has, and by made-up rows whose answers are
// known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cuda/kernel_list.hpp"
#include "cuda/model/fit.hpp"
#include "cuda/model/shipped.hpp"
#include "cuda/order_of_sums.hpp"
#include "gpu/h200.hpp"
#include "gpu/row_major.hpp"

namespace exactile::cuda::model {
namespace {

constexpr GemmTypes f32{ElementType::f32, ElementType::f32};
constexpr GemmTypes f64{ElementType::f64, ElementType::f64};

Device made_up(int capability) {
  return {.name = "a GPU that nobody has",
          .compute_capability = capability,
          .sm_count = 78,
          .shared_bytes_per_block = (capability == 80                       ? 163
                                     : capability >= 90 && capability < 120 ? 227
                                                                            : 99)
                                    << 10,
          .l2_bytes = 32 << 20,
          .memory_bytes = std::int64_t{24} << 30,
          .clock_hertz = 1.7e9,
          .memory_bytes_per_second = 1.2e12};
}

const std::vector<DeviceRows>& all_shipped() {
  static const std::vector<DeviceRows> all = parse_rows(cuda_tsv);
  return all;
}

const DeviceRows& shipped() { return all_shipped().at(0); }

TEST(CudaChoice, EveryTypeIsPlannedForEveryGeneration) {
  for (const int capability : {80, 86, 89, 90, 100, 120}) {
    const Device device = made_up(capability);
    const DeviceModel model(device, shipped(), kernels());
    for (const GemmTypes types : plan::types_of_devices(all_gemm_types()))
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{4096, 4096, 4096}, {1, 4096, 4096}, {37, 300, 5}}) {
        SCOPED_TRACE(to_string(types) + " on " + std::to_string(capability) + ", m = " + std::to_string(m));
        const plan::Problem problem{.description = test::row_major(types, m, n, k), .memory = Memory::device};
        int offered = 0;
        for (const Kernel* kernel : kernels()) {
          if (!can_do(*kernel, problem, device)) continue;
          const auto ranked = model.rank(*kernel, problem, kernel->candidates(problem, device), true);
          ASSERT_FALSE(ranked.empty()) << kernel->name << " refuses nothing and offers nothing";
          for (const Ranked& way : ranked) EXPECT_TRUE(way.seconds > 0 && std::isfinite(way.seconds)) << kernel->name;
          EXPECT_TRUE(std::ranges::is_sorted(ranked, {}, &Ranked::seconds)) << kernel->name;
          ++offered;
        }
        EXPECT_GT(offered, 0) << "no kernel keeps standard";
      }
  }
}

TEST(CudaChoice, WhatL2HoldsIsNotMovedEveryTime) {
  const Device device = made_up(90);
  const auto l2 = static_cast<double>(device.l2_bytes);
  const auto moving = [&](double bytes) { return seconds({.bytes = bytes}, {}, {}, device); };
  EXPECT_DOUBLE_EQ(moving(l2 / 2), l2 / 2 / calls_of_operands / device.memory_bytes_per_second);
  EXPECT_DOUBLE_EQ(moving(0.75 * l2), 0.75 * 0.75 * l2 / device.memory_bytes_per_second) << "a part of it is lost";
  EXPECT_DOUBLE_EQ(moving(2 * l2), 2 * l2 / device.memory_bytes_per_second);
}

/// By rates of the kernel that multiplies panels of f64, or of its own where it extracts.
TEST(CudaChoice, WhatIsCertifiedIsEstimatedByMeasuredRates) {
  const auto certified = std::ranges::find(kernels(), std::string_view("cuda_certified"), &Kernel::name);
  ASSERT_NE(certified, kernels().end());
  const DeviceModel model(h200, shipped(), kernels());
  for (const GemmTypes types : (*certified)->types)
    for (const Accuracy accuracy : {Accuracy::compensated, Accuracy::correctly_rounded}) {
      SCOPED_TRACE(to_string(types) + " " + std::string(to_string(accuracy)));
      constexpr std::int64_t n = 2048;
      const plan::Problem problem{
          .description = test::row_major(types, n, n, n), .accuracy = accuracy, .memory = Memory::device};
      const std::vector<Candidate> candidates = (*certified)->candidates(problem, h200);
      const Ranked best = model.rank(**certified, problem, candidates, true).front();
      const auto chosen = std::ranges::find(candidates, best.configuration, &Candidate::configuration);
      EXPECT_TRUE(model.knows(**certified, problem.description, *chosen)) << to_string(best.configuration);
      const double operations = operation_count(types, n, n, n);
      EXPECT_GT(best.seconds, operations / 67e12);
      EXPECT_LT(best.seconds, operations / 2e12);
    }
}

std::string_view choice(const Device& device, const GemmDescription& d, bool is_reproducible = false) {
  const DeviceModel model(device, shipped(), kernels());
  const plan::Problem problem{.description = d, .memory = Memory::device, .reproducible = is_reproducible};
  std::string_view best;
  double least = std::numeric_limits<double>::infinity();
  for (const Kernel* kernel : kernels()) {
    if (!can_do(*kernel, problem, device) || !order_refuses(problem, device.compute_capability, kernel->name).empty())
      continue;
    const double seconds = model.rank(*kernel, problem, kernel->candidates(problem, device), true).front().seconds;
    if (seconds >= least) continue;
    least = seconds;
    best = kernel->name;
  }
  return best;
}

TEST(CudaChoice, KernelsForSpecialProductsAreTaken) {
  EXPECT_EQ(choice(h200, test::row_major(f32, 16, 16, 16, 10000)), "batched_small");
  EXPECT_EQ(choice(h200, test::row_major(f64, 9, 9, 9, 10000)), "batched_small");
  EXPECT_EQ(choice(h200, test::row_major({ElementType::i32, ElementType::i32}, 8192, 8192, 1)), "outer_product");
  EXPECT_EQ(choice(h200, test::row_major(f32, 8192, 8192, 1)), "short_sums");
  const GemmTypes bf16{ElementType::bf16, ElementType::bf16};
  EXPECT_EQ(choice(made_up(80), test::row_major(bf16, 4096, 4096, 4096)), "sm80_bf16_mma");
  EXPECT_EQ(choice(h200, test::row_major(bf16, 4096, 4096, 4096)), "sm90_bf16_wgmma");
  EXPECT_EQ(choice(h200, test::row_major(f64, 4096, 4096, 4096)), "sm90_f64_mma");
}

/// wgmma would have B copied first.
TEST(CudaChoice, SmallI8WithRowsAcrossKTakesOneKernel) {
  constexpr GemmTypes i8{ElementType::i8, ElementType::i32};
  GemmDescription d = test::row_major(i8, 128, 2688, 64);
  EXPECT_EQ(choice(h200, d), "sm80_i8_i32_mma");
  d.b = {.row_stride = 1, .column_stride = 64};
  EXPECT_EQ(choice(h200, d), "sm90_i8_i32_wgmma");
  EXPECT_EQ(choice(h200, test::row_major(i8, 216, 320, 176)), "sm80_i8_i32_mma");
  EXPECT_EQ(choice(h200, test::row_major(i8, 4096, 4096, 4096)), "sm90_i8_i32_wgmma");
}

TEST(CudaChoice, ReproducibleF32OfFewRowsSharesK) {
  for (const std::int64_t few : {1, 16, 64}) {
    EXPECT_EQ(choice(h200, test::row_major(f32, few, 4096, 4096), true), "sm90_f32_fp16x3_mma") << few;
    EXPECT_EQ(choice(h200, test::row_major(f32, 4096, few, 4096), true), "sm90_f32_fp16x3_mma") << few;
    EXPECT_EQ(choice(h200, test::row_major(f32, few, few, 32768), true), "sm90_f32_fp16x3_mma") << few;
  }
  EXPECT_EQ(choice(h200, test::row_major(f32, 1024, 1024, 1024), true), "sm90_f32_fp16x3_wgmma");
}

/// K is not cut for them.
TEST(CudaChoice, ReproducibleF32OfFewTilesHasNarrowOnes) {
  const DeviceModel model(h200, shipped(), kernels());
  const auto kernel = std::ranges::find(kernels(), std::string_view("sm90_f32_fp16x3_wgmma"), &Kernel::name);
  for (const auto& [size, columns] : {std::pair{700, 64}, {1024, 64}, {1280, 128}, {4096, 256}}) {
    const plan::Problem problem{
        .description = test::row_major(f32, size, size, size), .memory = Memory::device, .reproducible = true};
    const auto ranked = model.rank(**kernel, problem, (*kernel)->candidates(problem, h200), true);
    EXPECT_EQ(ranked.front().configuration.bn, columns) << size;
  }
}

TEST(CudaChoice, LargeComplexProductsAreRealOnesOnTensorCores) {
  for (const ElementType type : {ElementType::cf64, ElementType::cf32}) {
    const std::string_view real = type == ElementType::cf64 ? "complex_f64_mma" : "complex_f32_fp16x3";
    for (const bool turns_a : {false, true})
      for (const bool turns_b : {false, true}) {
        GemmDescription d = test::row_major({type, type}, 4096, 4096, 4096);
        if (turns_a) d.a = {.row_stride = 1, .column_stride = 4096};
        if (turns_b) d.b = {.row_stride = 1, .column_stride = 4096};
        EXPECT_TRUE(choice(h200, d).starts_with(real)) << choice(h200, d) << turns_a << turns_b;
        d.c = {.row_stride = 1, .column_stride = 4096};
        EXPECT_TRUE(choice(h200, d).starts_with(real)) << choice(h200, d) << turns_a << turns_b;
      }
    for (const std::int64_t size : {2, 4})
      EXPECT_FALSE(choice(h200, test::row_major({type, type}, size, size, size)).starts_with("complex")) << size;
  }
}

TEST(CudaChoice, ConfigurationsHaveNamesOfTheirOwn) {
  for (const Kernel* kernel : kernels())
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{4096, 4096, 4096}, {3, 4100, 70000}}) {
      const plan::Problem problem{.description = test::row_major(kernel->types.front(), m, n, k),
                                  .accuracy = Accuracy::reduced,
                                  .memory = Memory::device};
      if (!kernel->refuses(problem, h200).empty()) continue;
      std::set<std::string> names;
      for (const Candidate& candidate : kernel->candidates(problem, h200)) {
        const std::string name = to_string(candidate.configuration);
        EXPECT_TRUE(names.insert(name).second) << kernel->name << ' ' << name << " twice";
        const auto pin = Pin::parse(name);
        ASSERT_TRUE(pin) << name;
        EXPECT_TRUE(pin->matches(candidate.configuration)) << name;
        EXPECT_TRUE(candidate.demand.tiles > 0 && candidate.demand.slots > 0 && candidate.demand.steps >= 0) << name;
      }
    }
}

TEST(CudaChoice, APinNamesSomeSizesAndLeavesOthers) {
  const auto pin = Pin::parse("BM=128 SWAP=0");
  ASSERT_TRUE(pin);
  EXPECT_TRUE(pin->matches({.bm = 128, .bn = 64}));
  EXPECT_FALSE(pin->matches({.bm = 128, .bn = 64, .swap = 1}));
  EXPECT_FALSE(pin->matches({.bm = 64}));
  for (const char* wrong : {"BM", "BM=", "MW=3", "BM=-1", "BM=1.5", "BM=64 BM=128"})
    EXPECT_FALSE(Pin::parse(wrong)) << wrong;
}

TEST(CudaChoice, RowsAreReadAsTheyWereWritten) {
  DeviceRows rows;
  rows.name = "a GPU";
  rows.facts = made_up(90);
  rows.overheads = {.launch = 2e-6,
                    .side_launch = 1e-6,
                    .overlap = 0.25,
                    .share = 0.9,
                    .copy_share = 0.7,
                    .turn_share = 0.2,
                    .host_launch = 2.5e-6};
  rows.ways = {{"simt_f32", {.bm = 64, .bn = 64, .split_k = 2}}, {"short_sums", {}}};
  rows.rates[rates_key("simt_f32", ElementType::f32, rows.ways[0].configuration, 1)] = {.step = 3e-7, .tile = 0};
  const RatesKey stored_otherwise = rates_key("simt_f32", ElementType::f32, rows.ways[0].configuration, 1, 2);
  rows.rates[stored_otherwise] = {.step = 3e-7, .tile = 5e-7};
  rows.products = {{.description = test::row_major(f32, 5, 7, 9), .times = {{1, 2e-6}, {0, 2.5e-6}}}};
  const std::vector<DeviceRows> read =
      parse_rows("# a comment\n" + to_text(rows) + "product\ta GPU\tf32\tno shape\t0:1\n" +
                 "product\ta GPU\tf32\t9000000000000000000x9000000000000000000x9 nn standard\t0:1\nrubbish\n" +
                 "device\ta huge GPU\tCC=90 SMS=9 SHARED_BYTES=9 MEMORY_MB=9000000000000000000 CLOCK_KHZ=9 " +
                 "BANDWIDTH_MBS=9\tSHARE_PM=1\n");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(to_text(read[0]), to_text(rows));
  ASSERT_TRUE(read[0].rates.contains(stored_otherwise));
  EXPECT_NEAR(read[0].rates.at(stored_otherwise).tile, 5e-7, 1e-12);
  EXPECT_EQ(read[0].products.size(), 1U) << "a damaged line was read";
  EXPECT_EQ(read[0].products[0].description.k, 9);
}

TEST(CudaChoice, WhatShipsIsReadWhole) {
  const std::string_view text = cuda_tsv;
  std::ptrdiff_t products = 0;
  for (std::size_t at = text.find("\nproduct\t"); at != std::string_view::npos; at = text.find("\nproduct\t", at + 1))
    ++products;
  std::ptrdiff_t read = 0;
  for (const DeviceRows& rows : all_shipped()) {
    read += std::ssize(rows.products);
    EXPECT_GT(rows.products.size(), 1000U) << rows.name;
    EXPECT_GT(rows.overheads.launch, 0) << rows.name;
  }
  EXPECT_EQ(read, products);
}

TEST(CudaChoice, TheRowsOfOneDeviceAreReadAlone) {
  const std::vector<DeviceRows> heads = parse_devices(cuda_tsv);
  ASSERT_EQ(heads.size(), all_shipped().size());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    EXPECT_TRUE(heads[i].products.empty());
    EXPECT_EQ(heads[i].facts.memory_bytes_per_second, all_shipped()[i].facts.memory_bytes_per_second);
    EXPECT_EQ(to_text(parse_rows(cuda_tsv, heads[i].name)), to_text(all_shipped()[i]));
  }
  EXPECT_TRUE(parse_rows(cuda_tsv, "NVIDIA").products.empty()) << "the beginning of a name is no name";
}

/// Products measured on a device that obeys the formula exactly.
DeviceRows obedient_rows() {
  DeviceRows rows;
  rows.name = "obedient";
  rows.facts = h200;
  rows.overheads = {
      .launch = 2e-6, .side_launch = 2e-6, .overlap = 0.2, .share = 0.8, .copy_share = 0.7, .turn_share = 0.3};
  for (const std::int64_t size : {200, 500, 900, 1700, 2600, 4000, 6000}) {
    MeasuredProduct product{.description = test::row_major(f64, size, size + 100, size / 2), .times = {}};
    const plan::Problem problem{.description = product.description, .memory = Memory::device};
    for (const Kernel* kernel : kernels()) {
      if (kernel->name != "sm90_f64_mma") continue;
      for (const Candidate& c : kernel->candidates(problem, h200)) {
        if (c.configuration.bm != 128 || c.configuration.bn != 128) continue;
        product.times.push_back(
            {static_cast<int>(rows.ways.size()), seconds(c.demand, {7e-7, 3e-6}, rows.overheads, h200)});
        rows.ways.push_back({"sm90_f64_mma", c.configuration});
      }
    }
    rows.products.push_back(product);
  }
  return rows;
}

TEST(CudaChoice, KIsNotCutWhereItsSumsTakeTheDevicesMemory) {
  plan::Problem problem{.description = test::row_major(f64, 1024, 1024, 2000000), .memory = Memory::device};
  const auto is_f64 = [](const Kernel* kernel) { return kernel->name == "sm90_f64_mma"; };
  const Kernel& kernel = **std::ranges::find_if(kernels(), is_f64);
  const auto is_cut = [](const Candidate& c) { return c.configuration.split_k > 1; };
  for (const bool reproducible : {false, true}) {  // of slices there are at most 64, of chunks as many as K has
    Device small = h200;
    small.memory_bytes = std::int64_t{reproducible ? 24 : 1} << 30;
    problem.reproducible = reproducible;
    EXPECT_TRUE(std::ranges::none_of(kernel.candidates(problem, small), is_cut));
    EXPECT_TRUE(std::ranges::any_of(kernel.candidates(problem, h200), is_cut));
  }
}

/// 92 tiles of 128 x 96 in seven slices each fill five waves of 132 CTAs.
TEST(CudaChoice, SlicesOfF64FillWaves) {
  const plan::Problem problem{.description = test::row_major(f64, 5888, 192, 11392), .memory = Memory::device};
  const auto is_f64 = [](const Kernel* kernel) { return kernel->name == "sm90_f64_mma"; };
  const Kernel& kernel = **std::ranges::find_if(kernels(), is_f64);
  const auto is_split = [](int split_k) {
    return [split_k](const Candidate& c) {
      return c.configuration.bm == 128 && c.configuration.bn == 96 && c.configuration.split_k == split_k;
    };
  };
  const std::vector<Candidate> all = kernel.candidates(problem, h200);
  for (const int split_k : {1, 2, 4, 5, 7, 8, 16}) EXPECT_TRUE(std::ranges::any_of(all, is_split(split_k))) << split_k;
}

TEST(CudaChoice, FittingFindsTheCoefficientsOfADeviceThatObeys) {
  DeviceRows rows = obedient_rows();
  fit(rows, kernels());
  double worst = 0;
  std::size_t compared = 0;
  for (const MeasuredProduct& product : rows.products)
    for (const Kernel* kernel : kernels()) {
      if (kernel->name != "sm90_f64_mma") continue;
      for (const Candidate& c :
           kernel->candidates({.description = product.description, .memory = Memory::device}, h200)) {
        const auto rates = rows.rates.find(rates_key(kernel->name, ElementType::f64, c.configuration, c.demand.path));
        if (rates == rows.rates.end()) continue;
        ++compared;
        const Rates truth{7e-7, 3e-6};
        const Overheads of_truth = obedient_rows().overheads;
        worst = std::max(worst, std::abs(std::log(seconds(c.demand, rates->second, rows.overheads, h200) /
                                                  seconds(c.demand, truth, of_truth, h200))));
      }
    }
  EXPECT_GE(compared, rows.ways.size()) << "each configuration that was measured has coefficients";
  EXPECT_LT(worst, 0.15) << "of the logarithm of a time";
}

TEST(CudaChoice, KStepsOfCtasThatShareAnSmTakeTurns) {
  const auto time = [](double tiles) {
    const Demand demand{.tiles = tiles, .slots = 2.0 * h200.sm_count, .ctas = 2, .steps = 10};
    return seconds(demand, {.step = 1e-6, .tile = 3e-6}, {}, h200);
  };
  EXPECT_DOUBLE_EQ(time(h200.sm_count), 13e-6);
  EXPECT_DOUBLE_EQ(time(2.0 * h200.sm_count), 23e-6);
  EXPECT_DOUBLE_EQ(time(4.0 * h200.sm_count), 46e-6);
}

/// Of a way that is twice as fast as the others where they are small, and not kept anywhere else.
TEST(CudaChoice, WhatIsNotKeptTookLongerThanAllThatIs) {
  DeviceRows rows = obedient_rows();
  const auto is_f64 = [](const Kernel* kernel) { return kernel->name == "sm90_f64_mma"; };
  const Kernel& kernel = **std::ranges::find_if(kernels(), is_f64);
  const auto other = [&](const MeasuredProduct& product) {
    const plan::Problem problem{.description = product.description, .memory = Memory::device};
    const std::vector<Candidate> all = kernel.candidates(problem, h200);
    return *std::ranges::find_if(
        all, [](const Candidate& c) { return c.configuration.bm == 64 && c.configuration.split_k == 1; });
  };
  const auto fastest = [](const MeasuredProduct& product) {
    return std::ranges::min_element(product.times, {}, &Time::seconds)->seconds;
  };
  MeasuredProduct& first = rows.products.front();
  first.times.push_back({static_cast<int>(rows.ways.size()), fastest(first) / 2});
  rows.ways.push_back({"sm90_f64_mma", other(first).configuration});
  fit(rows, kernels());
  const MeasuredProduct& last = rows.products.back();
  const auto estimate = [&] {
    return DeviceModel(h200, rows, kernels()).formula(kernel, last.description, other(last));
  };
  const double by_one_product = estimate();
  fit(rows, kernels());
  EXPECT_LT(by_one_product, 2 * fastest(last));
  EXPECT_GT(estimate(), 2.4 * fastest(last));
}

TEST(CudaChoice, WhatWasMeasuredIsChosen) {
  DeviceRows rows = shipped();
  rows.products.clear();
  const plan::Problem problem{.description = test::row_major(f64, 1000, 1000, 500), .memory = Memory::device};
  const auto is_f64 = [](const Kernel* kernel) { return kernel->name == "sm90_f64_mma"; };
  const Kernel& kernel = **std::ranges::find_if(kernels(), is_f64);
  const std::vector<Candidate> candidates = kernel.candidates(problem, h200);
  const auto by_formula = DeviceModel(h200, rows, kernels()).rank(kernel, problem, candidates, true);
  // One from the middle of the formula's order was the fastest by far when it was measured, and nothing else came near.
  const Ranked& middle = by_formula[by_formula.size() / 2];
  rows.ways = {{"sm90_f64_mma", middle.configuration}};
  rows.products = {{.description = problem.description, .times = {{0, by_formula.front().seconds / 10}}}};
  const auto corrected = DeviceModel(h200, rows, kernels()).rank(kernel, problem, candidates, true);
  EXPECT_EQ(to_string(corrected.front().configuration), to_string(middle.configuration));
  const auto formula = DeviceModel(h200, rows, kernels()).rank(kernel, problem, candidates, false);
  EXPECT_EQ(to_string(formula.front().configuration), to_string(by_formula.front().configuration))
      << "planning = formula looks at no product";
}

TEST(CudaChoice, OnAStreamSeveralLaunchesTakeTheHostAsMuchEach) {
  DeviceRows rows = shipped();
  rows.overheads.host_launch = 1e-3;
  const plan::Problem problem{.description = test::row_major(f64, 128, 64, 2816), .memory = Memory::device};
  const auto is_f64 = [](const Kernel* kernel) { return kernel->name == "sm90_f64_mma"; };
  const Kernel& kernel = **std::ranges::find_if(kernels(), is_f64);
  const DeviceModel model(h200, rows, kernels());
  const auto in_graph = model.rank(kernel, problem, kernel.candidates(problem, h200), true);
  const auto on_stream = model.on_stream(in_graph);
  EXPECT_TRUE(std::ranges::is_sorted(on_stream, {}, &Ranked::seconds));
  std::set<int> launches;
  for (const Ranked& way : on_stream) {
    const auto same = std::ranges::find(in_graph, way.configuration, &Ranked::configuration);
    EXPECT_EQ(way.seconds, way.launches == 1 ? same->seconds : 1e-3 * way.launches) << to_string(way.configuration);
    launches.insert(way.launches);
  }
  EXPECT_EQ(launches, (std::set{1, 2}));
}

TEST(CudaChoice, ProductsFromBeforeATileSayNothingOfIt) {
  DeviceRows rows = shipped();
  const plan::Problem problem{.description = test::row_major(f64, 128, 64, 2816), .memory = Memory::device};
  const auto is_f64 = [](const Kernel* kernel) { return kernel->name == "sm90_f64_mma"; };
  const Kernel& kernel = **std::ranges::find_if(kernels(), is_f64);
  rows.ways = {{"sm90_f64_mma", {.bm = 64, .bn = 64, .split_k = 1}}};
  rows.products = {{.description = problem.description, .times = {{0, 1e-3}}}};
  const DeviceModel model(h200, rows, kernels());
  int of_clusters = 0, of_measured_tile = 0;
  const std::vector<Candidate> candidates = kernel.candidates(problem, h200);
  for (const Ranked& way : model.rank(kernel, problem, candidates, true)) {
    const auto candidate = std::ranges::find(candidates, way.configuration, &Candidate::configuration);
    const double formula = model.formula(kernel, problem.description, *candidate);
    of_clusters += way.configuration.cluster_k > 0 && way.seconds == formula ? 1 : 0;
    of_measured_tile += way.configuration == rows.ways[0].configuration && way.seconds > 2 * formula ? 1 : 0;
  }
  EXPECT_EQ(of_clusters,
            std::ranges::count_if(candidates, [](const Candidate& c) { return c.configuration.cluster_k > 0; }));
  EXPECT_EQ(of_measured_tile, 1);
}

const Kernel& gemv_kernel() { return **std::ranges::find(kernels(), "gemv", &Kernel::name); }

/// Of so many columns, where N is contiguous or lines along K begin anywhere, only tensor cores have tiles for f8.
TEST(CudaChoice, GemvTakesTensorCoresOfWhichTheBoundIsDerived) {
  const auto ways = [&](int capability, bool is_along_k, std::int64_t k, ElementType type = ElementType::f8e4m3,
                        int columns_along_k = 256) {
    GemmDescription d = test::row_major({type, ElementType::f32}, 4, 4096, k);
    if (is_along_k) d.b = {1, k + 5};
    return std::ranges::count_if(
        gemv_kernel().candidates({.description = d, .memory = Memory::device}, made_up(capability)),
        [&](const Candidate& c) { return c.configuration.bn == (is_along_k ? columns_along_k : 64); });
  };
  constexpr bool n = false, k = true;
  EXPECT_GT(ways(90, n, 4096), 0);
  EXPECT_GT(ways(90, n, 8), 0);
  EXPECT_EQ(ways(90, n, 7), 0);
  EXPECT_GT(ways(90, k, 4096), 0);
  EXPECT_GT(ways(90, k, 32), 0);
  EXPECT_EQ(ways(90, k, 31), 0);
  EXPECT_GT(ways(90, k, 4096, ElementType::f8e4m3, 32), 0) << "by CUDA cores, which are faster where tiles are few";
  for (const int capability : {80, 89, 100, 120}) {
    EXPECT_EQ(ways(capability, n, 4096), 0) << capability;
    EXPECT_EQ(ways(capability, k, 4096), 0) << capability;
    EXPECT_GT(ways(capability, n, 4096, ElementType::bf16), 0) << "CUDA cores multiply bf16";
  }
}

/// What a lane's sums and the steps ahead take of the registers decides: 3, 2 or 1.
TEST(CudaChoice, FewerCtasOfGemvShareAnSmWhereSumsAreMany) {
  const Kernel& kernel = gemv_kernel();
  const auto ctas = [&](std::int64_t m, const OperandLayout& b, const GemmTypes& types = f64) {
    GemmDescription d = test::row_major(types, m, 4096, 4096);
    d.b = b;
    return kernel.candidates({.description = d, .memory = Memory::device}, h200).front().demand.slots / h200.sm_count;
  };
  constexpr OperandLayout by_rows{4096, 1}, by_columns{1, 4096};
  EXPECT_EQ(ctas(1, by_columns, {ElementType::bf16, ElementType::f32}), 3);
  EXPECT_EQ(ctas(1, by_columns), 2) << "three steps ahead";
  EXPECT_EQ(ctas(4, by_columns), 2) << "4 x 4 sums of 8 bytes";
  EXPECT_EQ(ctas(8, by_columns), 2) << "8 x 2 sums";
  EXPECT_EQ(ctas(8, by_columns, {ElementType::cf64, ElementType::cf64}), 1) << "8 x 2 sums of 16 bytes";
  EXPECT_EQ(ctas(1, by_columns, {ElementType::cf64, ElementType::cf64}), 3) << "one step ahead along K";
  EXPECT_EQ(ctas(1, by_rows, {ElementType::cf64, ElementType::cf64}), 2);
  EXPECT_EQ(ctas(1, by_columns, {ElementType::i32, ElementType::i32}), 2);
  EXPECT_EQ(ctas(4, by_rows), 2) << "4 x 2 sums, three steps ahead";
  EXPECT_EQ(ctas(8, by_rows), 2);
}

}  // namespace
}  // namespace exactile::cuda::model
