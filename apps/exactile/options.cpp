// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "core/nearest.hpp"
#include "core/thread_count.hpp"
#include "exactile/devices.hpp"
#include "failure.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr std::int64_t most_devices = 1023;

void require_size(const char* name, std::int64_t value) {
  if (value < 0) fail(Exit::bad_usage, "{} = {}: is negative; expected a size of 0 or more", name, value);
}

template <class T>
T decimal(const std::string& name, const std::string& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail(Exit::bad_usage, "{} {}: does not fit in 64 bits", name, text);
  if (error != std::errc() || end != text.data() + text.size())
    fail(Exit::bad_usage, "{} {}: is not a whole number", name, text);
  return value;
}

/// By --kernel, --backend or both.
bool is_named(const KernelInfo& kernel, const GemmOptions& options) {
  if (options.kernel.empty()) return kernel.backend == options.backend;
  return kernel.name == options.kernel && (options.backend == Backend::automatic || kernel.backend == options.backend);
}

/// Asks the planner, not kernels() or devices(): those look for drivers of every backend, which takes time and memory
/// that a product on the processor need not spend.
Status status_of_names(const GemmOptions& options) {
  const GemmDescription nothing_to_multiply{
      .types = {}, .m = 1, .n = 1, .k = 0, .a = {}, .b = {}, .c = {.row_stride = 1}};
  return Plan::make(nothing_to_multiply, options).status();
}

bool is_known(const GemmOptions& options) { return status_of_names(options).code() != StatusCode::unknown_name; }

constexpr verification::Fill all_fills[] = {verification::Fill::normal,         verification::Fill::uniform,
                                            verification::Fill::small_integers, verification::Fill::wide_range,
                                            verification::Fill::cancelling,     verification::Fill::special_values};

}  // namespace

Option* add_integer(CommandLine& app, const std::string& name, std::int64_t& value, const std::string& help) {
  return app
      .add_option_function(
          name, [name, &value](const std::string& text) { value = decimal<std::int64_t>(name, text); }, help)
      ->type_name("N");
}

Option* add_seed(CommandLine& app, std::uint64_t& value) {
  return app
      .add_option_function(
          "--seed", [&value](const std::string& text) { value = decimal<std::uint64_t>("--seed", text); },
          "Of the random numbers (default 1)")
      ->type_name("N");
}

void ScaleFlags::apply(GemmDescription& description) const {
  description.row_scales = rows;
  description.column_scales = columns;
}

void add_scale_flags(CommandLine& app, ScaleFlags& flags) {
  app.add_flag("--row-scales", flags.rows, "A factor for each row of A");
  app.add_flag("--column-scales", flags.columns, "A factor for each column of B");
}

void add_choice_options(CommandLine& app, ChoiceOptions& options) {
  app.add_option("--backend", options.backend, "Compute on this backend only; `exactile devices` lists them")
      ->type_name("NAME");
  app.add_option("--kernel", options.kernel, "Run this kernel; `exactile kernels` lists them")->type_name("NAME");
  app.add_option("--planning", options.planning,
                 "What a choice rests on: formula; estimate (default), which knows measured products too; measured, "
                 "which times the first few")
      ->type_name("NAME");
  app.add_option("--accuracy", options.accuracy, "reduced, standard (default), compensated or correctly_rounded")
      ->type_name("NAME");
  app.add_flag("--reproducible", options.reproducible,
               "The same bits for a row of A and a column of B, whatever else is multiplied with them");
  add_integer(app, "--threads", options.threads,
              "Most threads to use (default: EXACTILE_NUM_THREADS, OMP_NUM_THREADS, or what the machine allows)");
  app.add_option("--parameters", options.parameters, "Sizes of a tunable kernel, \"MWG=64 NWG=64 ...\"")
      ->type_name("LIST");
  add_integer(app, "--device", options.device, "Which of the backend's devices (default 0)");
}

void add_memory_option(CommandLine& app, ChoiceOptions& options) {
  app.add_option("--memory", options.memory,
                 "Where the operands lie: host, or device for a GPU's own memory (default: host; in ladder, bench and "
                 "verify where the kernel or backend that is named computes)")
      ->type_name("NAME");
}

GemmOptions gemm_options(const ChoiceOptions& options) {
  const auto accuracy = parse_accuracy(options.accuracy);
  if (!accuracy)
    fail(Exit::bad_usage, "--accuracy {}: is not known; there are reduced, standard, compensated, correctly_rounded",
         options.accuracy);
  const auto planning = parse_planning(options.planning);
  if (!planning)
    fail(Exit::bad_usage, "--planning {}: is not known; there are formula, estimate, measured", options.planning);
  if (options.threads < 0 || options.threads > core::most_threads)
    fail(Exit::bad_usage, "--threads {}: expected 0 (the default number) to {}", options.threads, core::most_threads);
  if (!options.memory.empty() && options.memory != "host" && options.memory != "device")
    fail(Exit::bad_usage, "--memory {}: is not known; there are host, device", options.memory);
  if (options.device < 0 || options.device > most_devices)
    fail(Exit::bad_usage, "--device {}: expected 0 to {}", options.device, most_devices);
  const Backend backend = backend_named(options.backend);
  if (!options.kernel.empty()) require_known_kernel(options.kernel);
  return {.backend = backend,
          .kernel = options.kernel,
          .accuracy = *accuracy,
          .planning = *planning,
          .threads = static_cast<int>(options.threads),
          .memory = options.memory == "device" ? Memory::device : Memory::host,
          .device = static_cast<int>(options.device),
          .parameters = options.parameters,
          .reproducible = options.reproducible};
}

GemmOptions measured_options(const ChoiceOptions& choice) {
  GemmOptions options = gemm_options(choice);
  if (choice.memory == "host") return options;
  for (const KernelInfo& kernel : kernels()) {
    if (!is_named(kernel, options) || !kernel.on_device) continue;
    options.backend = kernel.backend;
    options.memory = Memory::device;
  }
  return options;
}

void require_one_backends_device(const ChoiceOptions& choice) {
  const GemmOptions options = gemm_options(choice);
  if (options.device != 0 && choice.backend.empty() && choice.kernel.empty()) require(status_of_names(options));
}

void require_usable(const GemmOptions& options) { require(status_of_names(options)); }

void fail_for_want_of_kernels(const GemmDescription& description, const ChoiceOptions& choice) {
  require(Plan::make(description, measured_options(choice)).status());
  fail(Exit::bad_usage, "no kernel can run this product");
}

void add_size_options(CommandLine& app, SizeOptions& options, bool required) {
  add_integer(app, "--m", options.m, "Rows of A and C")->required(required);
  add_integer(app, "--n", options.n, "Columns of B and C")->required(required);
  add_integer(app, "--k", options.k, "Columns of A, rows of B")->required(required);
  add_integer(app, "--batch", options.batch, "Number of products in one call (default 1)");
  app.add_flag("--transpose-a", options.transpose_a, "A is stored transposed, as K x M");
  app.add_flag("--transpose-b", options.transpose_b, "B is stored transposed, as N x K");
}

GemmDescription describe(const SizeOptions& sizes, GemmTypes types) {
  require_size("m", sizes.m);
  require_size("n", sizes.n);
  require_size("k", sizes.k);
  require_size("batch", sizes.batch);
  const std::int64_t a = product_of_sizes(sizes.m, sizes.k, "m * k");
  const std::int64_t b = product_of_sizes(sizes.k, sizes.n, "k * n");
  const std::int64_t c = product_of_sizes(sizes.m, sizes.n, "m * n");
  const auto row_major = [](std::int64_t columns, std::int64_t elements) {
    return OperandLayout{.row_stride = std::max<std::int64_t>(columns, 1),
                         .column_stride = 1,
                         .batch_stride = std::max<std::int64_t>(elements, 1)};
  };
  const auto stored = [&](bool transposed, std::int64_t rows, std::int64_t columns, std::int64_t elements) {
    OperandLayout layout = row_major(transposed ? rows : columns, elements);
    if (transposed) std::swap(layout.row_stride, layout.column_stride);
    return layout;
  };
  return {.types = types,
          .m = sizes.m,
          .n = sizes.n,
          .k = sizes.k,
          .a = stored(sizes.transpose_a, sizes.m, sizes.k, a),
          .b = stored(sizes.transpose_b, sizes.k, sizes.n, b),
          .c = row_major(sizes.n, c),
          .batch_count = sizes.batch};
}

void require_work(const SizeOptions& sizes) {
  const std::pair<const char*, std::int64_t> all[] = {
      {"m", sizes.m}, {"n", sizes.n}, {"k", sizes.k}, {"batch", sizes.batch}};
  for (const auto& [name, value] : all)
    if (value == 0) fail(Exit::bad_usage, "{} = 0: there is nothing to time; expected 1 or more", name);
}

std::string type_names() {
  std::vector<std::string> names;
  for (const GemmTypes types : all_gemm_types()) names.push_back(to_string(types));
  return fmt::format("{}", fmt::join(names, ", "));
}

GemmTypes parse_types(const std::string& name) {
  if (const auto types = parse_gemm_types(name)) return *types;
  fail(Exit::bad_usage, "--type {}: is not known; there are {}", name, type_names());
}

verification::Fill parse_fill(const std::string& name) {
  if (const auto fill = verification::parse_fill(name)) return *fill;
  std::vector<std::string_view> names;
  for (const verification::Fill fill : all_fills) names.push_back(verification::to_string(fill));
  fail(Exit::bad_usage, "--fill {}: is not known; there are {}", name, fmt::join(names, ", "));
}

void require_known_kernel(const std::string& kernel) {
  if (is_known({.kernel = kernel})) return;
  const std::vector<KernelInfo> all = kernels();
  std::vector<std::string_view> names;
  for (const KernelInfo& info : all) names.emplace_back(info.name);
  std::string absent;
  for (const DeviceInfo& device : devices())
    if (std::ranges::find(all, device.backend, &KernelInfo::backend) == all.end())
      absent += fmt::format("; those of {} are not here ({})", to_string(device.backend), device.reason);
  fail(Exit::bad_usage, "--kernel {}: is not known{} (`exactile kernels` lists all {}){}", core::shortened(kernel),
       core::nearest_names(kernel, names), names.size(), absent);
}

bool is_of_backend(const KernelInfo& kernel, const std::string& name) {
  const Backend backend = backend_named(name);
  return backend == Backend::automatic || kernel.backend == backend;
}

Backend backend_named(const std::string& name) {
  if (name.empty()) return Backend::automatic;
  if (const auto backend = parse_backend(name)) return *backend;
  fail(Exit::bad_usage, "--backend {}: is not known; there are automatic, cpu, cuda, opencl", name);
}

}  // namespace exactile::program
