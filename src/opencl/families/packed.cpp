// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/packed.hpp"

#include <algorithm>
#include <array>

#include "core/checked.hpp"
#include "opencl/families/chosen.hpp"
#include "opencl/families/cost.hpp"
#include "opencl/families/panels.hpp"

namespace exactile::opencl {
namespace {

using core::ceil_divide;
using core::round_up;

class Packed final : public DeviceProduct {
 public:
  Packed(const plan::Problem& problem, const Device& device, Choice choice)
      : d_(with_contiguous_columns(problem.description, &swapped_)),
        choice_(std::move(choice)),
        p_(PackedParameters::from(choice_.parameters)),
        k_padded_(round_up(d_.k, p_.kwg)),
        a_{d_.m, p_.mwg, d_.a},
        b_{d_.n, p_.nwg, {d_.b.column_stride, d_.b.row_stride, d_.b.batch_stride}},
        options_(element_options(d_, device)) {
    settle_passes(device);
  }

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const auto panels_a = launch.scratch(panel_bytes(a_));
    if (!panels_a.ok()) return panels_a.status();
    const auto panels_b = launch.scratch(panel_bytes(b_));
    if (!panels_b.ok()) return panels_b.status();
    const Result<Loan<Runtime, Scratch>> totals =
        is_chunked() ? launch.scratch(totals_bytes()) : Result<Loan<Runtime, Scratch>>(Loan<Runtime, Scratch>());
    if (!totals.ok()) return totals.status();
    Pass pass{
        .a = panels_a.value().get().memory, .b = panels_b.value().get().memory, .totals = totals.value().get().memory};
    for (pass.first = 0; pass.first < d_.batch_count; pass.first += products_at_once_) {
      pass.count = std::min(products_at_once_, d_.batch_count - pass.first);
      if (Status s = run_pass(oriented(launch, swapped_), pass); !s.ok()) return s;
    }
    return {};
  }

  [[nodiscard]] std::string blocking() const override {
    return choice_.parameters.to_string() + (is_chunked() ? fmt::format(" KC={}", chunk_terms) : "") +
           choice_.source_text();
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return panel_bytes(a_) + panel_bytes(b_) + (is_chunked() ? totals_bytes() : 0);
  }
  [[nodiscard]] double model_bytes() const override {
    // The copies are written once, and read once for each tile beside or above.
    return tile_traffic(d_, p_.mwg, p_.nwg) + 2 * static_cast<double>(panel_bytes(a_) + panel_bytes(b_));
  }

 private:
  /// Some products of the batch.
  struct Pass {
    cl_mem a = nullptr;
    cl_mem b = nullptr;
    cl_mem totals = nullptr;
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  [[nodiscard]] std::int64_t sum_size() const { return size_in_bytes(accumulator_type(d_.types.input)); }
  [[nodiscard]] bool is_chunked() const { return d_.k > chunk_terms; }
  [[nodiscard]] std::int64_t panel_bytes(const Side& side) const {
    return side.elements(k_padded_) * sum_size() * (side.is_shared() ? 1 : products_at_once_);
  }
  /// The sums of all tiles of a pass, borders included.
  [[nodiscard]] std::int64_t totals_bytes() const {
    return products_at_once_ * p_.tiles(d_.m, d_.n) * p_.mwg * p_.nwg * sum_size();
  }

  /// So many products at once that scratch memory stays a fair share of the device's.
  void settle_passes(const Device& device) {
    const std::int64_t limit = std::min(device.max_buffer_bytes, device.memory_bytes / 16);
    const std::int64_t largest =
        std::max({a_.elements(k_padded_), b_.elements(k_padded_), p_.tiles(d_.m, d_.n) * p_.mwg * p_.nwg}) * sum_size();
    products_at_once_ = std::clamp<std::int64_t>(limit / largest, 1, d_.batch_count);
  }

  [[nodiscard]] Status run_pass(const Launch& launch, const Pass& pass) const {
    const PanelRange range{.k = d_.k, .k_padded = k_padded_, .first = pass.first, .count = pass.count};
    const ElementType in = d_.types.input;
    if (!a_.is_shared() || pass.first == 0)
      if (Status s = enqueue_pack(launch, a_, launch.a, in, pass.a, range, options_); !s.ok()) return s;
    if (!b_.is_shared() || pass.first == 0)
      if (Status s = enqueue_pack(launch, b_, launch.b, in, pass.b, range, options_); !s.ok()) return s;
    const std::string chunks = is_chunked() ? fmt::format(" -D CHUNK={}", chunk_terms) : "";
    return enqueue_packed(launch, d_,
                          {.a = pass.a,
                           .a_step = a_.product_step(k_padded_),
                           .b = pass.b,
                           .b_step = b_.product_step(k_padded_),
                           .totals = pass.totals,
                           .k_padded = k_padded_},
                          p_, pass.first, pass.count, options_ + chunks);
  }

  bool swapped_ = false;
  GemmDescription d_;
  Choice choice_;
  PackedParameters p_;
  std::int64_t k_padded_;
  Side a_;
  Side b_;
  std::string options_;
  std::int64_t products_at_once_ = 1;
};

using enum ElementType;
constexpr std::array packed_types{GemmTypes{f32, f32}, GemmTypes{f64, f64},   GemmTypes{i32, i32},  GemmTypes{f16, f16},
                                  GemmTypes{f16, f32}, GemmTypes{bf16, bf16}, GemmTypes{bf16, f32}, GemmTypes{i8, i32}};

std::string_view refuses(const plan::Problem& p, const Device& d) {
  // A single product's panels must fit in a buffer; borders at most double a side.
  const GemmDescription& g = p.description;
  const double lines = 2 * static_cast<double>(std::max(g.m, g.n)) + 512;
  const double terms = static_cast<double>(std::max(g.k, std::min(g.m, g.n))) + 64;
  const double sum_bytes = static_cast<double>(size_in_bytes(accumulator_type(g.types.input)));
  if (lines * terms * sum_bytes > static_cast<double>(d.max_buffer_bytes))
    return with_limit("the operands' panels would be larger than the device's largest buffer", d.max_buffer_bytes,
                      "bytes");
  return why_no_choice("opencl_packed", packed_tunable, p, d);
}

/// Packing costs a pass over both operands, and the tiles must be many enough for the device.
double cost(const plan::Problem& p, const Device& device) {
  const GemmDescription& d = p.description;
  const double packed = static_cast<double>(d.m + d.n) * static_cast<double>(d.k) * static_cast<double>(d.batch_count);
  const double seconds_per_element = device.is_cpu ? 1e-9 / device.compute_units : 4e-12;
  const double tiles = static_cast<double>(ceil_divide(d.m, 64)) * static_cast<double>(ceil_divide(d.n, 64)) *
                       static_cast<double>(d.batch_count);
  const double busy = device.is_cpu ? 1.0 : std::min(1.0, tiles / (2.0 * device.compute_units));
  return 2e-5 + packed * seconds_per_element + estimate(p, device, 0.6 * busy);
}

}  // namespace

const Kernel packed{.name = "opencl_packed",
                    .role = "engine",
                    .summary = "both operands copied into panels, then a kernel without borders whose sizes are tuned",
                    .types = packed_types,
                    .refuses = refuses,
                    .cost = cost,
                    .prepare = [](const plan::Problem& p, const Device& d) -> std::unique_ptr<DeviceProduct> {
                      return std::make_unique<Packed>(p, d, choose("opencl_packed", packed_tunable, p, d));
                    },
                    .tunable = &packed_tunable};

}  // namespace exactile::opencl
