// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/certified.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <numeric>

#include "core/checked.hpp"
#include "core/rounded.hpp"
#include "opencl/families/chosen.hpp"
#include "opencl/families/cost.hpp"
#include "opencl/families/panels.hpp"
#include "opencl/kernel_sources.hpp"

namespace exactile::opencl {
namespace {

using core::ceil_divide;

/// Terms of one chain of additions, as on the CPU: the bits of compensated sums are the same.
constexpr std::int64_t certified_chunk = 128;
/// The digits of kernels/certified_settle.cl hold twice so many products.
constexpr std::int64_t most_terms = std::int64_t{1} << 28;
/// Work-items of the kernels in certified_*.cl.
constexpr std::int64_t measure_items = 256;
constexpr std::int64_t round_items = 256;
constexpr std::int64_t settle_items = 128;
constexpr std::int64_t settled_at_once = 16;
constexpr std::int64_t settle_local_bytes = settle_items * 8 * 21;
constexpr std::int64_t line_numbers = 3;

std::int64_t parts_of(const GemmDescription& d) { return is_complex(d.types.input) ? 2 : 1; }

/// The same product as one of f64, as opencl_packed is asked for it: parts of complex elements are terms and columns of
/// their own; sums go to a dense matrix.
plan::Problem in_f64(plan::Problem problem) {
  GemmDescription& d = problem.description;
  bool swapped = false;
  d = with_contiguous_columns(d, &swapped);
  const std::int64_t parts = parts_of(d);
  d.types = {ElementType::f64, ElementType::f64};
  d.n *= parts;
  d.k *= parts;
  d.c = {.row_stride = d.n, .column_stride = 1, .batch_stride = d.m * d.n};
  d.bias = Bias::none;
  d.activation = Activation::none;
  return problem;
}

std::string_view round_source() {
  static const auto& text = *new std::string(std::string(certified_cl) + std::string(certified_round_cl));
  return text;
}

std::string_view settle_source() {
  static const auto& text = *new std::string(std::string(certified_cl) + std::string(certified_settle_cl));
  return text;
}

class Certified final : public DeviceProduct {
 public:
  Certified(const plan::Problem& problem, const Device& device)
      : d_(with_contiguous_columns(problem.description, &swapped_)),
        sums_(in_f64(problem).description),
        p_(PackedParameters::from(choose("opencl_packed", packed_tunable, in_f64(problem), device).parameters)),
        chunk_(std::max(certified_chunk, p_.kwg)),
        k_padded_(core::round_up(sums_.k, p_.kwg)),
        a_{sums_.m, p_.mwg, d_.a, how("COMPLEX_A", d_.a.conjugate)},
        b_{sums_.n, p_.nwg, {d_.b.column_stride, d_.b.row_stride, d_.b.batch_stride}, how("COMPLEX_B", d_.b.conjugate)},
        settle_groups_(std::int64_t{device.compute_units} * 16),
        options_(element_options(d_, device) + " -D WIDE"),
        certified_options_(fmt::format("{} -D PARTS={} -D G_A={} -D G_B={}{}", options_, parts_of(d_), p_.mwg, p_.nwg,
                                       problem.accuracy == Accuracy::compensated ? " -D COMPENSATED" : "")),
        sum_options_(element_options(sums_, device)) {
    // The list's entries have 32 bits.
    const std::int64_t limit = std::min({device.max_buffer_bytes, device.memory_bytes / 16, std::int64_t{1} << 36});
    const std::int64_t largest = 8 * std::max({side_elements(a_), side_elements(b_), sums_elements()});
    products_at_once_ = std::clamp<std::int64_t>(limit / std::max<std::int64_t>(largest, 1), 1, d_.batch_count);
  }

  [[nodiscard]] Status launch(const Launch& given) const override {
    const auto a = given.scratch(side_bytes(a_));
    if (!a.ok()) return a.status();
    const auto b = given.scratch(side_bytes(b_));
    if (!b.ok()) return b.status();
    const auto sums = given.scratch(sums_bytes());
    if (!sums.ok()) return sums.status();
    Pass pass{a.value().get().memory, b.value().get().memory, sums.value().get().memory};
    for (pass.first = 0; pass.first < d_.batch_count; pass.first += products_at_once_) {
      pass.count = std::min(products_at_once_, d_.batch_count - pass.first);
      if (Status s = run_pass(oriented(given, swapped_), pass); !s.ok()) return s;
    }
    return {};
  }

  [[nodiscard]] std::string blocking() const override {
    return fmt::format("MWG={} NWG={} KWG={} KC={}", p_.mwg, p_.nwg, p_.kwg, chunk_);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return side_bytes(a_) + side_bytes(b_) + sums_bytes(); }
  [[nodiscard]] double model_bytes() const override {
    return tile_traffic(sums_, p_.mwg, p_.nwg) + 2 * static_cast<double>(workspace_bytes());
  }

 private:
  /// Some products of the batch, and where their panels and sums are.
  struct Pass {
    cl_mem a = nullptr;
    cl_mem b = nullptr;
    cl_mem sums = nullptr;
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  [[nodiscard]] std::string how(std::string_view complex, bool conjugate) const {
    return parts_of(d_) == 1 ? "" : fmt::format(" -D {}{}", complex, conjugate ? " -D CONJUGATE" : "");
  }
  /// Panels of a side, and what is known of its lines behind them.
  [[nodiscard]] std::int64_t side_elements(const Side& side) const {
    return side.padded_lines() * (k_padded_ + line_numbers);
  }
  [[nodiscard]] std::int64_t products_of(const Side& side) const { return side.is_shared() ? 1 : products_at_once_; }
  [[nodiscard]] std::int64_t known_offset(const Side& side) const {
    return products_of(side) * side.elements(k_padded_);
  }
  [[nodiscard]] std::int64_t side_bytes(const Side& side) const { return 8 * products_of(side) * side_elements(side); }
  /// For each product: totals of chunks by tiles, sums, and the list of elements in doubt, which begins with its
  /// length.
  [[nodiscard]] std::int64_t totals_elements() const { return p_.tiles(sums_.m, sums_.n) * p_.mwg * p_.nwg; }
  [[nodiscard]] std::int64_t sums_elements() const {
    return totals_elements() + sums_.m * sums_.n + ceil_divide(d_.m * d_.n, 2);
  }
  [[nodiscard]] std::int64_t sums_bytes() const { return 8 * products_at_once_ * sums_elements() + 8; }
  [[nodiscard]] std::int64_t sums_offset() const { return products_at_once_ * totals_elements(); }
  [[nodiscard]] std::int64_t list_offset() const { return 2 * (sums_offset() + products_at_once_ * sums_.m * sums_.n); }

  [[nodiscard]] Status run_pass(const Launch& launch, const Pass& pass) const {
    if (sums_.k != 0) {
      const auto is_new = [&](const Side& side) { return !side.is_shared() || pass.first == 0; };
      if (is_new(a_))
        if (Status s = prepare(launch, a_, launch.a, pass.a, pass); !s.ok()) return s;
      if (is_new(b_))
        if (Status s = prepare(launch, b_, launch.b, pass.b, pass); !s.ok()) return s;
      if (Status s = sum(launch, pass); !s.ok()) return s;
    }
    const cl_uint none = 0;
    if (Status s = check(
            api()->clEnqueueFillBuffer(launch.queue, pass.sums, &none, sizeof none,
                                       static_cast<std::size_t>(list_offset()) * 4, sizeof none, 0, nullptr, nullptr),
            "clEnqueueFillBuffer", "opencl_certified");
        !s.ok())
      return s;
    const std::int64_t elements = d_.m * d_.n * pass.count;
    if (Status s =
            finish(launch, pass, round_source(), "round_certain", ceil_divide(elements, round_items), round_items);
        !s.ok())
      return s;
    return finish(launch, pass, settle_source(), "settle",
                  std::min(settle_groups_, ceil_divide(elements, settled_at_once)), settle_items);
  }

  /// Panels, and what is known of their lines.
  [[nodiscard]] Status prepare(const Launch& launch, const Side& side, const BufferSpan& span, cl_mem panels,
                               const Pass& pass) const {
    const PanelRange range{.k = sums_.k, .k_padded = k_padded_, .first = pass.first, .count = pass.count};
    if (Status s = enqueue_pack(launch, side, span, d_.types.input, panels, range, options_); !s.ok()) return s;
    const std::int64_t lines = std::gcd(side.panel, 16);
    Result<Call> made =
        make_call(launch.runtime, certified_lines_cl, "measure",
                  fmt::format("{} -D G={} -D LINES={} -D ITEMS={}", options_, side.panel, lines, measure_items));
    if (!made.ok()) return made.status();
    Call& call = made.value();
    call.add(cl_long{side.padded_lines()});
    call.add(cl_long{k_padded_});
    call.add(cl_double{1 + static_cast<double>(sums_.k + 2) * 0x1p-51});  // what sums of squares lose
    call.add(panels);
    call.add(cl_long{known_offset(side)});
    const std::int64_t products = side.is_shared() ? 1 : pass.count;
    return call.enqueue(launch.queue, side.padded_lines() / lines * products, measure_items, "measure");
  }

  [[nodiscard]] Status sum(const Launch& given, const Pass& pass) const {
    Launch launch = given;
    launch.c = {pass.sums, 8 * sums_offset()};
    launch.alpha = 1;
    launch.beta = 0;
    const std::string chunks = sums_.k > chunk_ ? fmt::format(" -D CHUNK={}", chunk_) : "";
    return enqueue_packed(launch, sums_,
                          {.a = pass.a,
                           .a_step = a_.product_step(k_padded_),
                           .b = pass.b,
                           .b_step = b_.product_step(k_padded_),
                           .totals = pass.sums,
                           .k_padded = k_padded_},
                          p_, 0, pass.count, sum_options_ + chunks);
  }

  /// docs/accuracy.md derives it; 2^-20 more covers what is of higher order.
  [[nodiscard]] double relative_error() const {
    const auto terms = static_cast<double>(std::min(sums_.k, chunk_));
    const auto chunks = static_cast<double>(ceil_divide(sums_.k, chunk_));
    return (1 + 0x1p-20) * 0x1p-53 * (terms + chunks + 2);
  }

  [[nodiscard]] Status finish(const Launch& given, const Pass& pass, std::string_view source, const char* function,
                              std::int64_t groups, std::int64_t items) const {
    Result<Call> made = make_call(given.runtime, source, function, certified_options_);
    if (!made.ok()) return made.status();
    Call& call = made.value();
    for (const std::int64_t size : {d_.m, d_.n, pass.count, sums_.k, k_padded_}) call.add(cl_long{size});
    call.add(cl_double{relative_error()});
    const auto add_side = [&](const Side& side, cl_mem panels) {
      call.add(panels);
      for (const std::int64_t number : {known_offset(side), side.padded_lines(), std::int64_t{side.is_shared()}})
        call.add(cl_long{number});
    };
    add_side(a_, pass.a);
    add_side(b_, pass.b);
    call.add(pass.sums);
    call.add(cl_long{sums_offset()});
    call.add(pass.sums);
    call.add(cl_long{list_offset()});
    // alpha and beta count as rounded to the type that sums in other modes.
    Launch launch = given;
    if (parts_of(d_) == 2) {
      launch.alpha = core::rounded_to_f32(given.alpha.as<std::complex<double>>());
      launch.beta = core::rounded_to_f32(given.beta.as<std::complex<double>>());
    } else {
      launch.alpha = given.alpha.as<float>();
      launch.beta = given.beta.as<float>();
    }
    call.add_operand(launch.c, d_.c, d_.types.output, pass.first);
    call.add_scalar(launch.alpha, ElementType::cf64);
    call.add_scalar(launch.beta, ElementType::cf64);
    call.add(launch.bias.memory);
    call.add(cl_long{launch.bias.byte_offset / size_in_bytes(d_.types.output)});
    call.add(store_flags(d_, launch));
    return call.enqueue(launch.queue, groups, items, function);
  }

  bool swapped_ = false;
  GemmDescription d_;
  GemmDescription sums_;
  PackedParameters p_;
  std::int64_t chunk_;
  std::int64_t k_padded_;
  Side a_;
  Side b_;
  std::int64_t settle_groups_;
  std::string options_;
  std::string certified_options_;
  std::string sum_options_;
  std::int64_t products_at_once_ = 1;
};

using enum ElementType;
constexpr std::array certified_types{GemmTypes{f32, f32},     GemmTypes{f16, f16},    GemmTypes{f16, f32},
                                     GemmTypes{bf16, bf16},   GemmTypes{bf16, f32},   GemmTypes{f8e4m3, f32},
                                     GemmTypes{f8e4m3, bf16}, GemmTypes{f8e5m2, f32}, GemmTypes{f8e5m2, bf16},
                                     GemmTypes{cf32, cf32},   GemmTypes{f64, f64},    GemmTypes{cf64, cf64}};

std::string_view refuses(const plan::Problem& problem, const Device& device) {
  const GemmDescription& g = problem.description;
  if (problem.accuracy != Accuracy::compensated && problem.accuracy != Accuracy::correctly_rounded)
    return "sums for compensated and correctly_rounded only";
  if (accumulator_type(g.types.input) == f64 || accumulator_type(g.types.input) == cf64)
    return "sums in f64, which holds no product of two f64";
  if (!device.has_f64) return "the device has no double precision (cl_khr_fp64), in which f32 is summed";
  if (!device.keeps_f32_subnormals) return "the device flushes subnormal numbers of f32 to zero";
  if (g.k > most_terms) return "sums at most 2^28 terms";
  if (g.m * g.n >= std::int64_t{1} << 32) return "lists at most 2^32 elements";
  if (device.max_group_items < measure_items)
    return with_limit("work-groups of 256 items are more than the device allows", device.max_group_items, "work-items");
  if (device.local_bytes < settle_local_bytes)
    return with_limit("exact sums do not fit in local memory", device.local_bytes, "bytes");
  const auto parts = static_cast<double>(parts_of(g));
  const double lines = 2 * static_cast<double>(std::max(g.m, g.n)) * parts + 512;
  const double terms = static_cast<double>(g.k) * parts + 64;
  const double sums = 3 * lines * (2 * static_cast<double>(std::min(g.m, g.n)) * parts + 512);
  if (8 * std::max(lines * terms, sums) > static_cast<double>(device.max_buffer_bytes))
    return with_limit("panels or sums of f64 would be larger than the device's largest buffer", device.max_buffer_bytes,
                      "bytes");
  return why_no_choice("opencl_packed", packed_tunable, in_f64(problem), device);
}

}  // namespace

const Kernel certified{
    .name = "opencl_certified",
    .role = "engine",
    .summary = "sums of f64 with a bound for each: compensated and correctly_rounded",
    .types = certified_types,
    .refuses = refuses,
    .cost = [](const plan::Problem& p, const Device& d) { return 1e-4 + estimate(in_f64(p), d, 0.3); },
    .prepare = [](const plan::Problem& p, const Device& d) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<Certified>(p, d);
    },
    .conjugates = true,
    .certifies = true};

}  // namespace exactile::opencl
