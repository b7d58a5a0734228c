// SPDX-License-Identifier: Apache-2.0
/// \file
/// exactile_regret: how much slower the planner's choices are than the best of exactile's own kernels, on random
/// products. See README.md beside this file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "draw.hpp"
#include "exactile/context.hpp"
#include "exactile/devices.hpp"
#include "race.hpp"
#include "regret_rows.hpp"

namespace exactile::bench {
namespace {

struct Arguments {
  Population population;
  std::vector<std::string> types = {"f32"};
  RaceOptions race;
  std::string m = "1:8192";
  std::string n = "64:16384";
  std::string k = "64:16384";
  bool on_device = false;
  int device = 0;
  std::int64_t rotate_bytes = -1;
  double time_limit = 0;
  std::string rows;
};

void declare(CLI::App& app, Arguments& arguments) {
  Population& drawn = arguments.population;
  app.add_option_function<std::string>(
         "--backend", [&arguments](const std::string& name) { arguments.race.backend = *parse_backend(name); },
         "Whose kernels are timed (default cpu)")
      ->check(CLI::IsMember({"cpu", "cuda", "opencl"}));
  app.add_flag("--device-memory", arguments.on_device,
               "Operands in the memory of the backend's device, times by its clock");
  app.add_option("--device", arguments.device, "Which of the backend's devices")->capture_default_str();
  app.add_option("--types", arguments.types, "f32 (default), f64, f16->f32, ...")->delimiter(',');
  app.add_option("--seed", drawn.seed, "Of the products")->capture_default_str();
  app.add_option("--count", drawn.count, "Products a type")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--m", arguments.m, "Rows of C, LEAST:MOST")->capture_default_str();
  app.add_option("--n", arguments.n, "Columns of C, LEAST:MOST")->capture_default_str();
  app.add_option("--k", arguments.k, "Length of the sums, LEAST:MOST")->capture_default_str();
  app.add_option("--most-terms", drawn.most_terms, "Products of more multiply-adds are drawn anew")
      ->capture_default_str();
  app.add_option("--threads", arguments.race.threads, "Threads of a product; means nothing to a GPU")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option(
      "--rotate-bytes", arguments.rotate_bytes,
      "Calls rotate through operands of more than so many bytes (default: 64 MiB, in device memory 256 MiB)");
  app.add_option("--keep", arguments.race.keep, "Kernels slower by more than this in a rough timing drop out")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--planning", [&arguments](const std::string& name) { arguments.race.planning = *parse_planning(name); },
         "What the choice rests on (default estimate)")
      ->check(CLI::IsMember({"formula", "estimate", "measured"}));
  app.add_flag("--configurations", arguments.race.configurations,
               "Time every configuration of every kernel, not only what each takes by itself");
  app.add_option("--skip", arguments.race.skip, "Kernels left out unless they are chosen")->delimiter(',');
  app.add_option("--seconds", arguments.race.limits.seconds, "Timed work for each kernel and product")
      ->capture_default_str();
  app.add_option("--warm-up", arguments.race.limits.warm_up_seconds, "Seconds before each kernel's first sample")
      ->capture_default_str();
  app.add_option("--settle", arguments.race.limits.settling_seconds,
                 "Seconds of a kernel's own calls before each of its samples")
      ->capture_default_str();
  app.add_option("--time-limit", arguments.time_limit, "Begin no product after so many seconds; 0 is no limit");
  app.add_option("--rows", arguments.rows, "Keep a JSON line a kernel and product here, and go on from what is there");
}

Sizes sizes_of(const std::string& option, const std::string& text) {
  const std::size_t colon = text.find(':');
  try {
    const Sizes sizes{std::stoll(text.substr(0, colon)), std::stoll(text.substr(colon + 1))};
    if (colon != std::string::npos && sizes.least >= 1 && sizes.least <= sizes.most) return sizes;
  } catch (const std::logic_error&) {  // no number, said below
  }
  throw std::runtime_error(option + " " + text + ": expected LEAST:MOST, at least 1");
}

std::vector<std::pair<std::string, GemmTypes>> types_of(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, GemmTypes>> types;
  for (const std::string& name : names) {
    const std::optional<GemmTypes> parsed = parse_gemm_types(name);
    if (!parsed) throw std::runtime_error("--types " + name + ": expected types that 'exactile kernels' lists");
    types.emplace_back(to_string(*parsed), *parsed);
  }
  return types;
}

std::string device_name(const Arguments& arguments) {
  int index = 0;
  for (const DeviceInfo& device : devices())
    if (device.backend == arguments.race.backend && index++ == arguments.device) return device.name;
  return {};
}

/// What makes two runs' rows comparable.
Json header_of(const Arguments& arguments) {
  const Population& p = arguments.population;
  return {{"schema", "exactile.regret/1"},
          {"version", version()},
          {"backend", to_string(arguments.race.backend)},
          {"device", device_name(arguments)},
          {"threads", arguments.race.threads},
          {"rotate_bytes", arguments.race.rotate_bytes},
          {"planning", to_string(arguments.race.planning)},
          {"configurations", arguments.race.configurations},
          {"seed", p.seed},
          {"m", arguments.m},
          {"n", arguments.n},
          {"k", arguments.k},
          {"most_terms", p.most_terms}};
}

void settle(Arguments& arguments, std::optional<Context>& context) {
  arguments.population.m = sizes_of("--m", arguments.m);
  arguments.population.n = sizes_of("--n", arguments.n);
  arguments.population.k = sizes_of("--k", arguments.k);
  constexpr std::int64_t beyond_the_caches = 64 << 20;
  constexpr std::int64_t beyond_a_gpus_caches = 256 << 20;
  const std::int64_t by_default = arguments.on_device ? beyond_a_gpus_caches : beyond_the_caches;
  arguments.race.rotate_bytes = arguments.rotate_bytes < 0 ? by_default : arguments.rotate_bytes;
  if (!arguments.on_device) return;
  Result<Context> opened = Context::make(arguments.race.backend, arguments.device);
  if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
  context = std::move(opened).value();
  arguments.race.context = &*context;
}

void show(const Raced& raced) {
  const Product& p = raced.product;
  fmt::print(stderr, "{:5} {} {}x{}x{}{}{} regret {:.3f}\n", raced.index, raced.type, p.m, p.n, p.k,
             p.a.transposed ? " A^T" : "", p.b.transposed ? " B^T" : "", regret(raced.times));
}

void race_all(const Arguments& arguments, RowsFile& rows) {
  const auto start = std::chrono::steady_clock::now();
  const auto types = types_of(arguments.types);
  // Type after type of each product, so that a run that is stopped has as many of all.
  std::vector<std::vector<Product>> products;
  for (const auto& [name, type] : types) products.push_back(draw_products(arguments.population, type));
  for (int index = 0; index < arguments.population.count; ++index)
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (rows.has(types[t].first, index)) continue;
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (arguments.time_limit > 0 && spent.count() > arguments.time_limit) return;
      const Product& product = products[t][static_cast<std::size_t>(index)];
      Raced raced{types[t].first, index, product, race(product, arguments.race)};
      if (raced.times.empty()) continue;
      show(raced);
      rows.add(std::move(raced));
    }
}

int measure(Arguments& arguments) try {
  std::optional<Context> context;
  settle(arguments, context);
  Json report = header_of(arguments);
  RowsFile rows(arguments.rows, report);
  race_all(arguments, rows);
  report["types"] = summary_of(rows.raced());
  fmt::print("{}\n", report.dump(2));
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw std::runtime_error("cannot write to standard output");
  return 0;
} catch (const std::bad_alloc&) {
  fmt::print(stderr, "exactile_regret: no memory for the operands\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "exactile_regret: {}\n", error.what());
  return 2;
}

}  // namespace
}  // namespace exactile::bench

int main(int count, char** values) {
  CLI::App app("Times the planner's choices against every kernel of exactile's, on random products", "exactile_regret");
  exactile::bench::Arguments arguments;
  arguments.race.limits.seconds = 0.06;
  arguments.race.limits.warm_up_seconds = 0.01;
  exactile::bench::declare(app, arguments);
  try {
    app.parse(count, values);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exactile::bench::measure(arguments);
}
