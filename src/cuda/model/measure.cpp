// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "cuda/kernel_list.hpp"
#include "cuda/model/bench.hpp"
#include "cuda/model/fit.hpp"
#include "cuda/model/link.hpp"
#include "cuda/model/rows_file.hpp"
#include "cuda/runtime/device.hpp"
#include "tuning/table/draw.hpp"

namespace exactile::cuda::model {

namespace {

/// A is transposed in a fifth of all products, B in half of them.
GemmDescription drawn_layouts(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k, std::mt19937_64& dice) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const bool a_by_columns = uniform(dice) < 0.2, b_by_columns = uniform(dice) < 0.5;
  return {.types = types,
          .m = m,
          .n = n,
          .k = k,
          .a = a_by_columns ? OperandLayout{1, m} : OperandLayout{k, 1},
          .b = b_by_columns ? OperandLayout{1, k} : OperandLayout{n, 1},
          .c = {n, 1}};
}

}  // namespace

GemmDescription draw_product(GemmTypes types, std::mt19937_64& dice) {
  const double most_terms = types.input == ElementType::f64 ? 4e10 : 2.5e11;
  while (true) {
    const std::int64_t m = tuning::draw_size(dice, 1, 8192), n = tuning::draw_size(dice, 64, 16384),
                       k = tuning::draw_size(dice, 64, 16384);
    if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) <= most_terms)
      return drawn_layouts(types, m, n, k, dice);
  }
}

GemmDescription draw_thin_product(GemmTypes types, std::mt19937_64& dice) {
  std::uniform_int_distribution<int> side(0, 2), few(1, 8), some(1, 64);
  const int thin = side(dice);
  const bool is_vector = std::uniform_int_distribution<int>(0, 1)(dice) == 0;
  std::int64_t sizes[] = {tuning::draw_size(dice, 64, 8192), tuning::draw_size(dice, 64, 16384),
                          tuning::draw_size(dice, 64, 16384)};
  sizes[thin] = is_vector ? few(dice) : some(dice);
  return drawn_layouts(types, sizes[0], sizes[1], sizes[2], dice);
}

GemmDescription draw_weights(GemmTypes types, std::mt19937_64& dice) {
  const auto units = [&](double most) {
    return std::llround(std::exp2(std::uniform_real_distribution<double>(0, std::log2(most))(dice)));
  };
  const std::int64_t m = units(256), n = 256 * (3 + units(61)), k = 256 * (3 + units(61));
  return {.types = types,
          .m = m,
          .n = n,
          .k = k,
          .a = {.row_stride = k, .column_stride = 1},
          .b = {.row_stride = 1, .column_stride = k},
          .c = {.row_stride = n, .column_stride = 1}};
}

GemmDescription draw_unaligned(GemmTypes types, std::mt19937_64& dice) {
  constexpr double least = 7, most = 13;  // powers of two
  std::uniform_real_distribution<double> power(least, most);
  const auto size = [&] { return std::llround(std::exp2(power(dice))); };
  const std::int64_t m = size(), n = size(), k = size();
  return drawn_layouts(types, m, n, k, dice);
}

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Pass {
  GemmTypes types;
  double share;  ///< of the time
  Accuracy accuracy = Accuracy::standard;
};

using enum ElementType;
constexpr Pass passes[] = {{{bf16, bf16}, 0.2},
                           {{f16, f16}, 0.1},
                           {{f32, f32}, 0.18},
                           {{f32, f32}, 0.04, Accuracy::reduced},
                           {{f64, f64}, 0.15},
                           {{f64, f64}, 0.02, Accuracy::correctly_rounded},
                           {{i8, i32}, 0.12},
                           {{f8e4m3, bf16}, 0.05, Accuracy::reduced},
                           {{f8e5m2, bf16}, 0.03, Accuracy::reduced},
                           {{i32, i32}, 0.03},
                           {{i64, i64}, 0.01},
                           {{cf32, cf32}, 0.03},
                           {{cf64, cf64}, 0.03},
                           {{cf64, cf64}, 0.01, Accuracy::correctly_rounded}};

/// Measures products of one pair of types until then. False: it is not to go on.
Result<bool> measure_pass(const Device& device, const Pass& pass, DeviceRows& rows, std::mt19937_64& dice,
                          const std::function<bool()>& goes_on, double until) {
  constexpr double within = 3;
  constexpr std::size_t thin_every = 4, weights_every = 8, unaligned_at = 4;
  const auto bench = Bench::open(device, pass.types);
  if (!bench.ok()) return bench.status();
  std::optional<DeviceModel> model;
  for (std::size_t measured = 0; seconds_now() < until; ++measured) {
    if (measured == products_before_fit) fit(rows, kernels());
    if (measured == 0 || measured == products_before_fit) model.emplace(device, rows, kernels());
    const bool is_thin = measured % thin_every == thin_every - 1;
    const GemmDescription d = is_thin                                    ? draw_thin_product(pass.types, dice)
                              : measured % weights_every == 0            ? draw_weights(pass.types, dice)
                              : measured % weights_every == unaligned_at ? draw_unaligned(pass.types, dice)
                                                                         : draw_product(pass.types, dice);
    auto product = bench.value()->measure(d, pass.accuracy, kernels(), *model, rows.ways, within);
    if (!product.ok()) return product.status();
    if (!product.value().times.empty()) rows.products.push_back(std::move(product.value()));
    if (!goes_on()) return false;
  }
  return true;
}

}  // namespace

Result<Measurements> measure(const Measuring& measuring) {
  if (measuring.device < 0 || measuring.device >= static_cast<int>(devices().size()))
    return Status(StatusCode::device_unavailable, devices().empty() ? std::string(why_no_device())
                                                                    : fmt::format("device = {}: there are {} of them",
                                                                                  measuring.device, devices().size()));
  const Device& device = devices()[static_cast<std::size_t>(measuring.device)];
  const std::string file = measuring.file.empty() ? user_rows_file() : measuring.file;
  if (file.empty())
    return Status(StatusCode::invalid_argument,
                  "file = \"\": expected a path, as neither XDG_CACHE_HOME nor HOME is set");
  if (Status s = check_rows_file(file); !s.ok()) return s;
  DeviceRows rows = rows_to_begin_with(device, file);
  const Result<plan::HostLink> link = measure_link(device);
  if (!link.ok()) return link.status();
  rows.link = link.value();
  const Result<double> host_launch = measure_host_launch(device);
  if (!host_launch.ok()) return host_launch.status();
  rows.overheads.host_launch = host_launch.value();
  std::mt19937_64 dice(measuring.seed);
  const double begin = seconds_now();
  double until = begin;
  for (const Pass& pass : passes) {
    until += pass.share * measuring.seconds;
    const Result<bool> goes_on = measure_pass(
        device, pass, rows, dice, [&] { return measuring.goes_on((seconds_now() - begin) / measuring.seconds); },
        until);
    if (!goes_on.ok()) return goes_on.status();
    fit(rows, kernels());
    if (Status s = keep(rows, file); !s.ok()) return s;
    if (!goes_on.value()) break;
  }
  return Measurements{.file = file, .choices = cross_validated(rows, kernels(), true)};
}

}  // namespace exactile::cuda::model
