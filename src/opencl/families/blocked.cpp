// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/blocked.hpp"

#include <algorithm>
#include <array>

#include "core/checked.hpp"
#include "opencl/families/call.hpp"
#include "opencl/families/chosen.hpp"
#include "opencl/families/cost.hpp"
#include "opencl/families/reduce.hpp"
#include "opencl/kernel_sources.hpp"

namespace exactile::opencl {
namespace {

/// The macros of kernels/blocked.cl.
struct Sizes {
  std::int64_t bm, bn, bk, tm, tn, pad, buffers;

  static Sizes from(const tuning::Parameters& p) {
    return {p.get("BM"), p.get("BN"), p.get("BK"), p.get("TM"), p.get("TN"), p.get("PAD"), p.get("BUFFERS")};
  }
  [[nodiscard]] std::int64_t items() const { return (bm / tm) * (bn / tn); }
  [[nodiscard]] std::string text() const {
    return fmt::format("BM={} BN={} BK={} TM={} TN={} PAD={} BUFFERS={}", bm, bn, bk, tm, tn, pad, buffers);
  }
  [[nodiscard]] std::string options() const {
    return fmt::format(" -D BM={} -D BN={} -D BK={} -D TM={} -D TN={} -D PAD={} -D BUFFERS={}", bm, bn, bk, tm, tn, pad,
                       buffers);
  }
};

std::string_view why_illegal_sizes(const tuning::Parameters& p, const Device& device, GemmTypes types) {
  const Sizes s = Sizes::from(p);
  if (std::min({s.bm, s.bn, s.bk, s.tm, s.tn}) < 1 || s.pad < 0) return "BM, BN, BK, TM and TN must be positive";
  if (s.buffers != 1 && s.buffers != 2) return "BUFFERS must be 1 or 2";
  if (s.bm % s.tm != 0) return "BM must be a multiple of TM";
  if (s.bn % s.tn != 0) return "BN must be a multiple of TN";
  if (chunk_terms % s.bk != 0) return "BK must divide a chunk of K (4096)";
  if (s.items() > device.max_group_items)
    return with_limit("more work-items than the device allows in a group", device.max_group_items, "work-items");
  const std::int64_t sum_bytes = size_in_bytes(accumulator_type(types.input));
  if (s.buffers * s.bk * (s.bm + s.bn + 2 * s.pad) * sum_bytes > device.local_bytes)
    return with_limit("the tiles do not fit in local memory", device.local_bytes, "bytes");
  if (s.tm * s.tn * sum_bytes > 1024) return "more sums than a work-item has registers for";
  return {};
}

tuning::Space sizes_space(const Device&, GemmTypes) {
  return {{"BM", {16, 32, 64, 128}}, {"BN", {16, 32, 64, 128}}, {"BK", {8, 16, 32}}, {"TM", {1, 2, 4, 8}},
          {"TN", {1, 2, 4, 8}},      {"PAD", {0, 1}},           {"BUFFERS", {1, 2}}};
}

constexpr Tunable blocked_tunable{.version = 1, .space = sizes_space, .why_illegal = why_illegal_sizes};

class Blocked : public DeviceProduct {
 public:
  Blocked(const plan::Problem& problem, const Device& device, Choice choice)
      : d_(with_contiguous_columns(problem.description, &swapped_)),
        choice_(std::move(choice)),
        sizes_(Sizes::from(choice_.parameters)),
        options_(element_options(d_, device) + sizes_.options()) {}

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const std::string chunks = d_.k > chunk_terms ? fmt::format(" -D CHUNK={}", chunk_terms) : "";
    Result<Call> call = make_call(launch.runtime, blocked_cl, "blocked", options_ + chunks);
    if (!call.ok()) return call.status();
    add_inputs(call.value(), launch);
    call.value().add_output(oriented(launch, swapped_), d_);
    return call.value().enqueue(launch.queue, tiles() * d_.batch_count, sizes_.items(), "blocked");
  }
  [[nodiscard]] std::string blocking() const override { return sizes_.text() + choice_.source_text(); }
  [[nodiscard]] double model_bytes() const override { return tile_traffic(d_, sizes_.bm, sizes_.bn); }

 protected:
  void add_inputs(Call& call, const Launch& given) const {
    const Launch launch = oriented(given, swapped_);
    call.add(cl_long{d_.m});
    call.add(cl_long{d_.n});
    call.add(cl_long{d_.k});
    call.add_operand(launch.a, d_.a, d_.types.input);
    call.add_operand(launch.b, d_.b, d_.types.input);
  }
  [[nodiscard]] std::int64_t tiles() const {
    return core::ceil_divide(d_.m, sizes_.bm) * core::ceil_divide(d_.n, sizes_.bn);
  }

  bool swapped_ = false;
  GemmDescription d_;
  Choice choice_;
  Sizes sizes_;
  std::string options_;
};

class Deep final : public Blocked {
 public:
  using Blocked::Blocked;

  [[nodiscard]] Status launch(const Launch& launch) const override {
    const auto scratch = launch.scratch(workspace_bytes());
    if (!scratch.ok()) return scratch.status();
    cl_mem partial = scratch.value().get().memory;
    Result<Call> call =
        make_call(launch.runtime, blocked_cl, "blocked", fmt::format("{} -D SLICED={}", options_, chunk_terms));
    if (!call.ok()) return call.status();
    add_inputs(call.value(), launch);
    call.value().add(cl_long{d_.batch_count});
    call.value().add(partial);
    const std::int64_t groups = tiles() * d_.batch_count * slices();
    if (Status s = call.value().enqueue(launch.queue, groups, sizes_.items(), "blocked"); !s.ok()) return s;
    return enqueue_reduce(oriented(launch, swapped_), d_, slices(), partial);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return slices() * d_.batch_count * d_.m * d_.n * size_in_bytes(accumulator_type(d_.types.input));
  }
  [[nodiscard]] double model_bytes() const override {
    return Blocked::model_bytes() + 2 * static_cast<double>(workspace_bytes());
  }
  [[nodiscard]] std::string blocking() const override {
    return fmt::format("{} KC={} slices={}", Blocked::blocking(), chunk_terms, slices());
  }

 private:
  [[nodiscard]] std::int64_t slices() const { return core::ceil_divide(d_.k, chunk_terms); }
};

/// The ladder's sizes do not depend on the device, so that its steps differ in one thing each.
tuning::Parameters ladder_sizes(std::int64_t pad, std::int64_t buffers) {
  return {{"BM", 64}, {"BN", 64}, {"BK", 8}, {"TM", 4}, {"TN", 4}, {"PAD", pad}, {"BUFFERS", buffers}};
}

constexpr std::array ladder_types{GemmTypes{ElementType::f32, ElementType::f32},
                                  GemmTypes{ElementType::f64, ElementType::f64},
                                  GemmTypes{ElementType::i32, ElementType::i32}};

template <std::int64_t Pad, std::int64_t Buffers>
std::string_view refuses_step(const plan::Problem& p, const Device& d) {
  return why_illegal_sizes(ladder_sizes(Pad, Buffers), d, p.description.types);
}

template <std::int64_t Pad, std::int64_t Buffers>
std::unique_ptr<DeviceProduct> prepare_step(const plan::Problem& p, const Device& d) {
  return std::make_unique<Blocked>(p, d, Choice{.parameters = ladder_sizes(Pad, Buffers)});
}

double slices_at_once(const plan::Problem& p) {
  const GemmDescription& d = p.description;
  return static_cast<double>(core::ceil_divide(d.k, chunk_terms)) * static_cast<double>(d.m) *
         static_cast<double>(d.n) * static_cast<double>(d.batch_count) *
         static_cast<double>(size_in_bytes(accumulator_type(d.types.input)));
}

/// The share of the device that the product's tiles can keep busy.
double busy(const plan::Problem& p, const Device& device, double slices) {
  const GemmDescription& d = p.description;
  const double tiles = static_cast<double>(core::ceil_divide(d.m, 64) * core::ceil_divide(d.n, 64)) *
                       static_cast<double>(d.batch_count) * slices;
  return std::min(1.0, tiles / (2.0 * device.compute_units));
}

}  // namespace

const Kernel register_blocked{.name = "opencl_register_blocked",
                              .role = "ladder",
                              .summary = "4 x 4 elements of C per work-item in registers, tiles in local memory",
                              .types = ladder_types,
                              .refuses = refuses_step<0, 1>,
                              .cost = [](const plan::Problem& p, const Device& d) { return estimate(p, d, 0.2); },
                              .prepare = prepare_step<0, 1>};

const Kernel padded{.name = "opencl_padded",
                    .role = "ladder",
                    .summary = "opencl_register_blocked with padded local tiles: no bank is hit twice",
                    .types = ladder_types,
                    .refuses = refuses_step<1, 1>,
                    .cost = [](const plan::Problem& p, const Device& d) { return estimate(p, d, 0.22); },
                    .prepare = prepare_step<1, 1>};

const Kernel prefetch{.name = "opencl_prefetch",
                      .role = "ladder",
                      .summary = "opencl_padded with two tiles in turns: one is fetched while the other is used",
                      .types = ladder_types,
                      .refuses = refuses_step<1, 2>,
                      .cost = [](const plan::Problem& p, const Device& d) { return estimate(p, d, 0.25); },
                      .prepare = prepare_step<1, 2>};

const Kernel direct{
    .name = "opencl_direct",
    .role = "engine",
    .summary = "register-blocked tiles of operands where they lie, sizes tuned: small products, every type",
    .types = all_gemm_types(),
    .refuses = [](const plan::Problem& p,
                  const Device& d) { return why_no_choice("opencl_direct", blocked_tunable, p, d); },
    .cost = [](const plan::Problem& p,
               const Device& d) { return estimate(p, d, d.is_cpu ? 0.03 : 0.3 * busy(p, d, 1)); },
    .prepare = [](const plan::Problem& p, const Device& d) -> std::unique_ptr<DeviceProduct> {
      return std::make_unique<Blocked>(p, d, choose("opencl_direct", blocked_tunable, p, d));
    },
    .tunable = &blocked_tunable};

const Kernel deep{.name = "opencl_deep",
                  .role = "engine",
                  .summary = "chunks of K by work-groups of their own, added in order: small C, long sums",
                  .types = all_gemm_types(),
                  .refuses = [](const plan::Problem& p, const Device& d) -> std::string_view {
                    if (p.description.k <= chunk_terms) return "K is a single chunk";
                    if (slices_at_once(p) > static_cast<double>(std::min(d.max_buffer_bytes, d.memory_bytes / 8)))
                      return "the chunks' sums would take too much memory";
                    return why_no_choice("opencl_deep", blocked_tunable, p, d);
                  },
                  .cost =
                      [](const plan::Problem& p, const Device& d) {
                        const auto slices = static_cast<double>(core::ceil_divide(p.description.k, chunk_terms));
                        constexpr double bytes_per_second = 1e12;
                        const double traffic =
                            3 * slices_at_once(p) / (d.is_cpu ? bytes_per_second / 50 : bytes_per_second);
                        return 1e-5 + traffic + estimate(p, d, d.is_cpu ? 0.03 : 0.3 * busy(p, d, slices));
                      },
                  .prepare = [](const plan::Problem& p, const Device& d) -> std::unique_ptr<DeviceProduct> {
                    return std::make_unique<Deep>(p, d, choose("opencl_deep", blocked_tunable, p, d));
                  },
                  .tunable = &blocked_tunable};

}  // namespace exactile::opencl
