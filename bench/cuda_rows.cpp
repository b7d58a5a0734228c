// SPDX-License-Identifier: Apache-2.0
// The CUDA backend's cost model: coefficients from a file of measured products (fit), more such products of one
// type (measure), what the host takes for a launch (host), and how good its choices are on random products that nothing
// was fitted to (regret). See src/cuda/model/rows.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "cuda/kernel_list.hpp"
#include "cuda/model/bench.hpp"
#include "cuda/model/fit.hpp"
#include "cuda/model/link.hpp"
#include "cuda/model/measure.hpp"
#include "cuda/model/rows_file.hpp"
#include "cuda/runtime/device.hpp"

namespace exactile::cuda {
namespace {

int fit_file(const char* from, const char* to) {
  std::ostringstream text;
  text << std::ifstream(from).rdbuf();
  std::vector<model::DeviceRows> all = model::parse_rows(text.str());
  std::ofstream out(to);
  out << "# Measured by `exactile tune --backend cuda`; what the lines say is in src/cuda/model/rows.hpp.\n";
  for (model::DeviceRows& rows : all) {
    std::cerr << rows.name << ": " << rows.products.size() << " products\n";
    model::fit(rows, kernels());
    out << model::to_text(rows);
    for (const bool corrected : {false, true})
      for (const ChoiceQuality& regret : model::cross_validated(rows, kernels(), corrected))
        std::cout << fmt::format("{:<10} {:<14} {:5} products: choice / fastest {:.3f} in the mean, {:.2f} at worst\n",
                                 corrected ? "corrected" : "formula", to_string(regret.types), regret.products,
                                 regret.mean, regret.worst);
  }
  return out.flush() ? 0 : 1;
}

/// One product: all configurations timed, the model's choice and the fastest once more, turn by turn.
Status judge(model::Bench& bench, const GemmDescription& d, const Device& device, std::FILE* out, double& logarithms,
             double& worst, int& count) {
  const model::DeviceModel& known = model::model_of(device);
  std::vector<model::Way> ways;
  auto measured = bench.measure(d, Accuracy::standard, kernels(), known, ways, 4);
  if (!measured.ok()) return measured.status();
  if (measured.value().times.empty()) return {};
  const plan::Problem problem{.description = d, .accuracy = Accuracy::standard, .memory = Memory::device};
  const Kernel* chosen = nullptr;
  Configuration configuration;
  double least = std::numeric_limits<double>::infinity();
  const Kernel* fastest = nullptr;
  for (const Kernel* kernel : kernels()) {
    const model::Way& best = ways[static_cast<std::size_t>(measured.value().times.front().way)];
    if (kernel->name == best.kernel) fastest = kernel;
    if (!model::can_do(*kernel, problem, device)) continue;
    const auto ranked = known.rank(*kernel, problem, kernel->candidates(problem, device), true);
    if (ranked.front().seconds >= least) continue;
    least = ranked.front().seconds;
    chosen = kernel;
    configuration = ranked.front().configuration;
  }
  const model::Way& best = ways[static_cast<std::size_t>(measured.value().times.front().way)];
  double of_choice = 0, of_best = 0;
  for (int round = 0; round < 3; ++round) {
    const auto choice = bench.time(*chosen, problem, configuration, least);
    const auto again = bench.time(*fastest, problem, best.configuration, measured.value().times.front().seconds);
    if (!choice.ok()) return choice.status();
    if (!again.ok()) return again.status();
    of_choice += choice.value();
    of_best += again.value();
  }
  const double ratio = std::max(1.0, of_choice / of_best);
  logarithms += std::log(ratio);
  worst = std::max(worst, ratio);
  ++count;
  fmt::print(
      out,
      "{{\"type\": \"{}\", \"m\": {}, \"n\": {}, \"k\": {}, \"a\": \"{}\", \"b\": \"{}\", \"choice\": \"{} {}\", "
      "\"choice_us\": {:.3f}, \"fastest\": \"{} {}\", \"fastest_us\": {:.3f}}}\n",
      to_string(d.types), d.m, d.n, d.k, d.a.column_stride == 1 ? "n" : "t", d.b.column_stride == 1 ? "n" : "t",
      chosen->name, to_string(configuration), of_choice / 3 * 1e6, best.kernel, to_string(best.configuration),
      of_best / 3 * 1e6);
  return {};
}

int regret(std::uint64_t seed, double seconds_each, const char* file, std::vector<std::string_view> names) {
  if (devices().empty()) {
    std::cerr << "no device: " << why_no_device() << '\n';
    return 4;
  }
  std::FILE* const out = std::fopen(file, "w");
  if (out == nullptr) return 1;
  if (names.empty()) names = {"bf16", "f16", "f32", "f64", "i8"};
  for (const std::string_view name : names) {
    const auto parsed = parse_gemm_types(name);
    if (!parsed) {
      std::cerr << "no such type: " << name << '\n';
      return 2;
    }
    const GemmTypes types = *parsed;
    const auto bench = model::Bench::open(devices()[0], types);
    if (!bench.ok()) {
      std::cerr << bench.status().message() << '\n';
      return 4;
    }
    std::mt19937_64 dice(seed);
    double logarithms = 0, worst = 1;
    int count = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds_each)
      if (const Status s =
              judge(*bench.value(), model::draw_product(types, dice), devices()[0], out, logarithms, worst, count);
          !s.ok()) {
        std::cerr << s.message() << '\n';
        return 4;
      }
    std::cout << fmt::format("regret     {:<14} {:5} products: choice / fastest {:.3f} in the mean, {:.2f} at worst\n",
                             name, count, std::exp(logarithms / count), worst);
  }
  return std::fclose(out) == 0 ? 0 : 1;
}

/// What a new kernel or tile needs: products of one type and accuracy alone, their times added to a file's; `shapes`:
/// any, thin (three of four are), vectors (at most 8 rows or columns), weights (few rows times a layer's weights) or
/// unaligned.
/// What is new is fitted on the way, so that times far from the fastest are not taken; `fit` then fits all.
int measure(const char* type, double seconds, const char* file, const char* accuracy, std::string_view shapes) {
  const auto types = parse_gemm_types(type);
  const auto kept = parse_accuracy(accuracy);
  constexpr std::string_view all_shapes[] = {"any", "thin", "vectors", "weights", "unaligned"};
  const bool has_shapes = std::ranges::find(all_shapes, shapes) != std::end(all_shapes);
  if (!types || !kept || !has_shapes || devices().empty()) {
    std::cerr << (!types        ? "type " + std::string(type)
                  : !kept       ? "accuracy " + std::string(accuracy)
                  : !has_shapes ? "shapes " + std::string(shapes)
                                : "no device: " + std::string(why_no_device()))
              << '\n';
    return 4;
  }
  const auto bench = model::Bench::open(devices()[0], *types);
  model::DeviceRows rows = model::rows_to_begin_with(devices()[0], file);
  std::optional<model::DeviceModel> known(std::in_place, devices()[0], rows, kernels());
  std::mt19937_64 dice(rows.products.size());
  auto begin = std::chrono::steady_clock::now();
  Status status = bench.ok() ? Status() : bench.status();
  constexpr double within = 3;
  const std::size_t had = rows.products.size();
  for (int i = 0;
       status.ok() && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds; ++i) {
    const bool is_thin = shapes == "vectors" || (shapes == "thin" && i % 4 != 0);
    const GemmDescription d = shapes == "weights"     ? model::draw_weights(*types, dice)
                              : shapes == "unaligned" ? model::draw_unaligned(*types, dice)
                              : is_thin               ? model::draw_thin_product(*types, dice)
                                                      : model::draw_product(*types, dice);
    if (shapes == "vectors" && std::min(d.m, d.n) > 8) continue;
    auto product = bench.value()->measure(d, *kept, kernels(), *known, rows.ways, within);
    status = product.status();
    if (!product.ok() || product.value().times.empty()) continue;
    rows.products.push_back(std::move(product.value()));
    if (rows.products.size() != had + model::products_before_fit) continue;
    const auto stopped = std::chrono::steady_clock::now();
    model::fit(rows, kernels());
    known.emplace(devices()[0], rows, kernels());
    begin += std::chrono::steady_clock::now() - stopped;
  }
  if (status.ok()) status = model::keep(rows, file);
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 4;
}

/// What enqueuing a launch takes, into a file's row of the device.
int host(const char* file) {
  if (devices().empty()) {
    std::cerr << "no device: " << why_no_device() << '\n';
    return 4;
  }
  model::DeviceRows rows = model::rows_to_begin_with(devices()[0], file);
  const Result<double> seconds = model::measure_host_launch(devices()[0]);
  Status status = seconds.status();
  if (seconds.ok()) {
    std::cout << fmt::format("a launch takes the host {:.2f} us\n", 1e6 * seconds.value());
    rows.overheads.host_launch = seconds.value();
    status = model::keep(rows, file);
  }
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 4;
}

}  // namespace
}  // namespace exactile::cuda

int main(int argc, char** argv) {
  using namespace exactile::cuda;
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "fit" && argc == 4) return fit_file(argv[2], argv[3]);
  if (what == "regret" && argc >= 5)
    return regret(std::strtoull(argv[2], nullptr, 10), std::strtod(argv[3], nullptr), argv[4], {argv + 5, argv + argc});
  if (what == "measure" && (argc >= 5 && argc <= 7))
    return measure(argv[2], std::strtod(argv[3], nullptr), argv[4], argc > 5 ? argv[5] : "standard",
                   argc > 6 ? argv[6] : "thin");
  if (what == "host" && argc == 3) return host(argv[2]);
  std::cerr
      << "usage: exactile_cuda_rows fit MEASURED.tsv ROWS.tsv\n"
         "       exactile_cuda_rows measure TYPE SECONDS MEASURED.tsv [ACCURACY [any|thin|vectors|weights|unaligned]]\n"
         "       exactile_cuda_rows host MEASURED.tsv\n"
         "       exactile_cuda_rows regret SEED SECONDS-A-TYPE REGRET.jsonl [TYPE...]\n";
  return 2;
}
