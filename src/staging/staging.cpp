// SPDX-License-Identifier: Apache-2.0
#include "staging/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/checked.hpp"
#include "staging/one_piece.hpp"
#include "staging/operands.hpp"
#include "staging/run.hpp"
#include "staging/tile_kernels.hpp"

namespace exactile::staging {
namespace {

constexpr int most_threads = 16;
constexpr std::int64_t unasked_bytes = 256 << 20;  // up to here free memory is not asked for

Tiling whole_tiling(const GemmDescription& d) {
  return {.products = d.batch_count, .m_tile = d.m, .n_tile = d.n, .k_tile = d.k};
}

class StagedProduct final : public plan::Executable {
 public:
  StagedProduct(const plan::Problem& problem, Stager& stager, const DeviceKernel& kernel, const Limits& limits)
      : product_(problem),
        stager_(stager),
        kernel_(kernel),
        kernels_(kernel.prepare),
        limits_(limits),
        threads_(std::clamp(problem.threads, 1, most_threads)) {}

  /// False where memory ran out.
  [[nodiscard]] bool make_ready() {
    const std::int64_t budget = stager_.device().memory_bytes() / 16 * 15;
    auto tiling = choose_tiling(product_, budget, limits_);
    if (tiling && !why_refused(*tiling).empty()) {
      limits_.whole_bytes = std::numeric_limits<std::int64_t>::max();
      limits_.group_bytes = std::numeric_limits<std::int64_t>::max();
      tiling = choose_tiling(product_, budget, limits_);
    }
    // Where nothing fits, run() says so.
    tiling_ = tiling.value_or(whole_tiling(product_.problem.description));
    main_ =
        kernels_.get(tile_problem(product_, regions_of(product_.problem, tiling_, 0, 0, 0, 0), tiling_.k_tiles == 1));
    return main_ != nullptr;
  }

  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution&) const override {
    const Result<Operands> operands = look_at(product_, arguments, stager_.device());
    if (!operands.ok()) return operands.status();
    if (fits_device() && fits_one_piece(tiling_, operands.value().all_pinned(), limits_))
      return run_in_one_piece(product_, tiling_, arguments, *main_, stager_);

    Tiling tiling = tiling_;
    if (Status s = fit_free_memory(tiling); !s.ok()) return s;
    for (;;) {
      const Result<RunSetup> setup = set_up(tiling, arguments, operands.value());
      if (setup.ok()) return Run(setup.value()).execute(setup.value().movement.threads);
      Status status = setup.status();
      if (status.code() != StatusCode::out_of_memory || !made_smaller(tiling)) return status;
    }
  }

  [[nodiscard]] std::string blocking() const override {
    const std::string kernel = main_->blocking();
    return fmt::format("{}{}host tile={}x{}x{}", kernel, kernel.empty() ? "" : " ", tiling_.m_tile, tiling_.n_tile,
                       tiling_.k_tile);
  }
  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] double model_bytes() const override {
    return main_->model_bytes() * static_cast<double>(tiling_.tiles() * tiling_.k_tiles);
  }

 private:
  /// The kernel's reason against one of the shapes of tile that occur; empty where it takes all.
  [[nodiscard]] std::string_view why_refused(const Tiling& t) const {
    for (const std::int64_t group : {std::int64_t{0}, t.groups - 1})
      for (const std::int64_t i : {std::int64_t{0}, t.m_tiles - 1})
        for (const std::int64_t j : {std::int64_t{0}, t.n_tiles - 1})
          for (const std::int64_t k : {std::int64_t{0}, t.k_tiles - 1}) {
            const plan::Problem problem =
                tile_problem(product_, regions_of(product_.problem, t, group, i, j, k), k == t.k_tiles - 1);
            if (const auto reason = kernel_.refuses(problem); !reason.empty()) return reason;
          }
    return {};
  }

  /// Whether make_ready() found a tiling; what whole_tiling() makes has no slots.
  [[nodiscard]] bool fits_device() const { return tiling_.device_bytes() != 0; }

  [[nodiscard]] Status fit_free_memory(Tiling& tiling) const {
    if (fits_device() && tiling.device_bytes() <= unasked_bytes) return {};
    const auto budget = stager_.budget();
    if (!budget.ok()) return budget.status();
    if (fits_device() && tiling.device_bytes() <= budget.value()) return {};
    return choose_within(budget.value(), tiling);
  }

  [[nodiscard]] Status choose_within(std::int64_t budget, Tiling& tiling) const {
    const auto chosen = choose_tiling(product_, budget, limits_);
    if (!chosen)
      return {StatusCode::out_of_memory,
              fmt::format("device memory: {} bytes are free, too few for one tile of the product", budget)};
    if (const auto reason = why_refused(*chosen); !reason.empty())
      return {StatusCode::unsupported,
              fmt::format("the product does not fit into device memory, and of its tiles the kernel says: {}", reason)};
    tiling = *chosen;
    return {};
  }

  [[nodiscard]] bool made_smaller(Tiling& tiling) const {
    return choose_within(tiling.device_bytes() / 2, tiling).ok();
  }

  /// Everything that can run out of memory, before the first byte of C changes.
  [[nodiscard]] Result<RunSetup> set_up(const Tiling& tiling, const GemmArguments& arguments,
                                        const Operands& operands) const {
    auto lane = stager_.lane();
    if (!lane.ok()) return lane.status();
    RunSetup setup{.product = product_,
                   .arguments = arguments,
                   .tiling = tiling,
                   .movement = movement(tiling, arguments, operands),
                   .schedule = make_schedule(product_, tiling),
                   .device = stager_.device(),
                   .lane = std::move(lane).value()};
    if (Status s = take_rings(setup); !s.ok()) return s;
    setup.list = make_tasks(product_, tiling, setup.schedule, setup.movement);
    if (Status s = take_memory(setup); !s.ok()) return s;
    if (Status s = take_kernels(setup); !s.ok()) return s;
    if (Status s = stager_.more_events(*setup.lane, Run::event_count(setup)); !s.ok()) return s;
    return setup;
  }

  /// Where pinned memory is short, a shorter ring does it too.
  [[nodiscard]] Status take_rings(RunSetup& setup) const {
    Movement& m = setup.movement;
    while (m.up_slots + m.down_slots != 0) {
      auto rings = stager_.rings(m.up_slots * m.chunk_bytes, m.down_slots * m.chunk_bytes);
      if (rings.ok()) {
        setup.rings = std::move(rings).value();
        return {};
      }
      if (rings.status().code() != StatusCode::out_of_memory || std::max(m.up_slots, m.down_slots) == 1)
        return rings.status();
      m.up_slots = core::ceil_divide(m.up_slots, 2);
      m.down_slots = core::ceil_divide(m.down_slots, 2);
    }
    return {};
  }

  [[nodiscard]] Movement movement(const Tiling& tiling, const GemmArguments& arguments,
                                  const Operands& operands) const {
    Movement m;
    const bool reads_c = !arguments.beta.is_zero();
    m.with_tile[static_cast<std::size_t>(Side::c)] = reads_c;
    for (const Side side : vector_sides) m.with_tile[static_cast<std::size_t>(side)] = product_.has(side);
    const TileRegions regions = regions_of(product_.problem, tiling, 0, 0, 0, 0);
    m.directly = {operands.a.is_pinned && goes_directly(product_.a, regions.a),
                  operands.b.is_pinned && goes_directly(product_.b, regions.b),
                  operands.c.is_pinned && goes_directly(product_.c, regions.c)};
    const auto moved = [&](Side side, const HostOperand& operand, const Region& region, std::int64_t tiles) {
      return m.directly[static_cast<std::size_t>(side)] ? 0 : operand.image(region).bytes() * tiles;
    };
    const std::int64_t c_bytes = moved(Side::c, product_.c, regions.c, tiling.tiles());
    const std::int64_t up_bytes = moved(Side::a, product_.a, regions.a, tiling.groups * tiling.m_tiles) +
                                  moved(Side::b, product_.b, regions.b, tiling.groups * tiling.n_tiles) +
                                  (reads_c ? c_bytes : 0) + tiling.all_vectors_slot_bytes();
    // Small products are cut finer, so that every thread has something to copy.
    m.threads = static_cast<int>(std::clamp<std::int64_t>((up_bytes + c_bytes) / limits_.thread_bytes, 1, threads_));
    m.chunk_bytes = std::clamp(core::round_up((up_bytes + c_bytes) / (std::int64_t{4} * m.threads), 4096),
                               limits_.least_chunk_bytes, limits_.most_chunk_bytes);
    m.up_slots = std::min(limits_.ring_slots, core::ceil_divide(up_bytes, m.chunk_bytes));
    m.down_slots = std::min(limits_.ring_slots, core::ceil_divide(c_bytes, m.chunk_bytes));
    return m;
  }

  [[nodiscard]] Status take_memory(RunSetup& setup) const {
    const Tiling& t = setup.tiling;
    const auto take = [&](Side side, std::int64_t bytes) {
      return take_slots(t.slots(side), bytes, setup.slots[static_cast<std::size_t>(side)]);
    };
    if (Status s = take(Side::a, t.a_slot_bytes); !s.ok()) return s;
    if (Status s = take(Side::b, t.b_slot_bytes); !s.ok()) return s;
    if (Status s = take(Side::c, t.c_slot_bytes); !s.ok()) return s;
    for (std::size_t v = 0; v < vector_sides.size(); ++v)
      if (product_.has(vector_sides[v]))
        if (Status s = take(vector_sides[v], t.vector_slot_bytes[v]); !s.ok()) return s;
    return {};
  }

  [[nodiscard]] Status take_kernels(RunSetup& setup) const {
    std::array<std::int64_t, compute_queues> scratch{};
    setup.kernels.reserve(setup.schedule.size());
    for (const Step& step : setup.schedule) {
      const TileRegions regions = regions_of(product_.problem, setup.tiling, step.group, step.i, step.j, step.k);
      const plan::Executable* kernel = kernels_.get(tile_problem(product_, regions, step.ends_tile));
      if (kernel == nullptr) return {StatusCode::out_of_memory, "no memory to prepare the kernel for a tile"};
      setup.kernels.push_back(kernel);
      auto& needed = scratch[static_cast<std::size_t>(step.queue)];
      needed = std::max(needed, kernel->workspace_bytes());
    }
    for (std::size_t queue = 0; queue < compute_queues; ++queue) {
      if (scratch[queue] == 0) continue;
      auto workspace = stager_.memory(scratch[queue]);
      if (!workspace.ok()) return workspace.status();
      setup.workspaces[queue] = std::move(workspace).value();
    }
    return {};
  }

  [[nodiscard]] Status take_slots(std::int64_t count, std::int64_t bytes, RunSetup::Slots& slots) const {
    if (count == 0) return {};
    slots.slot_bytes = bytes;
    slots.per_block = std::clamp<std::int64_t>(stager_.device().largest_allocation() / bytes, 1, count);
    for (std::int64_t taken = 0; taken < count; taken += slots.per_block) {
      auto block = stager_.memory(std::min(slots.per_block, count - taken) * bytes);
      if (!block.ok()) return block.status();
      slots.blocks.push_back(std::move(block).value());
    }
    return {};
  }

  HostProduct product_;
  Stager& stager_;
  DeviceKernel kernel_;
  mutable TileKernels kernels_;
  Limits limits_;
  int threads_;
  Tiling tiling_;  ///< where the whole device is free
  const plan::Executable* main_ = nullptr;
};

}  // namespace

plan::Problem on_device(const plan::Problem& problem) {
  const HostProduct product(problem);
  const Tiling whole = whole_tiling(problem.description);
  return tile_problem(product, regions_of(problem, whole, 0, 0, 0, 0), true);
}

std::string_view why_not(const plan::Problem& problem) {
  constexpr double most_bytes = 0x1p60;
  const GemmDescription& d = problem.description;
  const HostProduct product(problem);
  // On the host a stride of 0 may make an operand of any size out of one line; on the device it is written out.
  const auto bytes = [&](const HostOperand& operand, std::int64_t rows, std::int64_t columns) {
    constexpr double most_padding = 16;  // lines of one byte
    return most_padding * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(operand.element_bytes()) * static_cast<double>(d.batch_count);
  };
  const double most = std::max({bytes(product.a, d.m, d.k), bytes(product.b, d.k, d.n), bytes(product.c, d.m, d.n)});
  return most < most_bytes ? std::string_view() : "an operand, written out, has more elements than a device can hold";
}

double cost(const plan::Problem& problem, double kernel_seconds, const plan::HostLink& link) {
  const HostProduct product(problem);
  const TileRegions whole = regions_of(problem, whole_tiling(problem.description), 0, 0, 0, 0);
  const auto seconds = [&](const HostOperand& operand, const Region& region) {
    return static_cast<double>(operand.image(region).bytes()) / link.bytes_per_second;
  };
  const double up = seconds(product.a, whole.a) + seconds(product.b, whole.b);
  return link.round_trip_seconds + std::max({kernel_seconds, up, seconds(product.c, whole.c)});
}

std::unique_ptr<plan::Executable> prepare(const plan::Problem& problem, Stager& stager, const DeviceKernel& kernel,
                                          const Limits& limits) {
  auto product = std::make_unique<StagedProduct>(problem, stager, kernel, limits);
  if (!product->make_ready()) return nullptr;
  return product;
}

}  // namespace exactile::staging
