// SPDX-License-Identifier: Apache-2.0
#include "cpu/model/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "core/aligned_memory.hpp"
#include "core/thread_count.hpp"
#include "core/type_dispatch.hpp"
#include "cpu/kernel_list.hpp"
#include "cpu/model/fit.hpp"
#include "cpu/model/rows.hpp"
#include "cpu/model/team.hpp"
#include "cpu/order_of_sums.hpp"
#include "tuning/table/draw.hpp"
#include "tuning/table/table.hpp"

namespace exactile::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t pool_bytes = 64 << 20;  ///< of each operand: more than caches hold, with the others

/// Multiply-adds of a product, for each of its threads.
struct Terms {
  double least, most;
};
constexpr Terms common{0, 0x1p26};
constexpr Terms of_teams{0x1p14, 0x1p26};  ///< with fewer no team would be called
constexpr Terms large{0x1p26, 0x1p28};     ///< kernels differ by a few percent, which many small products would hide

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Elements for operands of one pair of types, wherever they begin.
struct Pools {
  core::AlignedMemory a{pool_bytes}, b{pool_bytes}, c{pool_bytes};

  explicit Pools(GemmTypes types) {
    if (!a.data() || !b.data() || !c.data()) throw std::bad_alloc();
    std::memset(c.data(), 0, pool_bytes);
    core::with_gemm_types(types, [&]<class In, class Out>() {
      std::minstd_rand dice;
      std::array<In, 4096> some;  // repeats itself, as times do not depend on it
      for (In& element : some) element = static_cast<In>(static_cast<float>(dice() % 7) - 3.0F);
      for (void* pool : {a.data(), b.data()})
        for (std::int64_t at = 0; at < pool_bytes; at += static_cast<std::int64_t>(sizeof(some)))
          std::memcpy(static_cast<char*>(pool) + at, some.data(), sizeof(some));
    });
  }
};

/// A product to be timed, with operands that lie in the caches or come from memory.
struct Drawn {
  plan::Problem problem;
  bool is_cold;
};

/// One thread, or by lot one of 2, 4, 8 ... and all.
int draw_threads(int index, std::mt19937_64& dice) {
  const int all = core::thread_count(0);
  if (index / 2 % 2 == 0 || all == 1) return 1;
  const int teams = static_cast<int>(std::bit_width(static_cast<unsigned>(all - 1)));
  return std::min(all, 2 << std::uniform_int_distribution<int>(0, teams - 1)(dice));
}

/// Every seventh product is large where `has_time` says so; of the others every third has a side of at most 8. Half
/// have several threads, exactly so many: the number that known rates would choose shows least where they are wrong.
/// Half of these, as of the others, come from memory.
Drawn draw(GemmTypes types, int index, bool has_time, std::mt19937_64& dice) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto size = [&](double most) { return tuning::draw_size(dice, 1, most); };
  const int threads = draw_threads(index, dice);
  constexpr double most = 4096;
  const bool is_large = has_time && index % 7 == 6;
  const bool is_thin = !is_large && index % 3 == 0;
  const Terms terms = is_large ? large : threads > 1 ? of_teams : common;
  // However many threads there are, operands that fit into the pools must reach it.
  const double least = std::min(terms.least * threads, is_thin ? 0x1p20 : 0x1p30);
  for (;;) {
    std::array<std::int64_t, 3> s{size(most), size(most), size(most)};
    if (is_thin) s[static_cast<std::size_t>(index / 3 % 2)] = size(8);
    const auto [m, n, k] = s;
    const double drawn = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    if (drawn < least || drawn > terms.most * threads) continue;
    constexpr std::int64_t most_elements = pool_bytes / 16;  // of the largest type
    if (std::max({m * k, k * n, m * n}) > most_elements) continue;
    const auto layout = [&](std::int64_t rows, std::int64_t columns, double turned) {
      return uniform(dice) < turned ? OperandLayout{1, rows} : OperandLayout{columns, 1};
    };
    return {{.description = {.types = types,
                             .m = m,
                             .n = n,
                             .k = k,
                             .a = layout(m, k, 0.3),
                             .b = layout(k, n, 0.5),
                             .c = layout(m, n, 0.2)},
             .threads = threads,
             .is_team_fixed = true},
            index % 2 == 0};
  }
}

/// A product's operands. All its kernels go on where the one before stopped: on operands of their own they would find
/// in the caches what the first had brought there.
class Operands {
 public:
  Operands(const Drawn& drawn, const Pools& pools) : pools_(pools) {
    const GemmDescription& d = drawn.problem.description;
    const auto bytes = [](std::int64_t rows, std::int64_t columns, ElementType type) {
      return core::round_up(rows * columns * static_cast<std::int64_t>(size_in_bytes(type)), 64);
    };
    strides_ = {bytes(d.m, d.k, d.types.input), bytes(d.k, d.n, d.types.input), bytes(d.m, d.n, d.types.output)};
    sets_ = drawn.is_cold ? pool_bytes / *std::ranges::max_element(strides_) : 1;
  }

  [[nodiscard]] GemmArguments next() {
    const auto at = [&](const core::AlignedMemory& pool, std::size_t operand) {
      return static_cast<char*>(pool.data()) + next_ * strides_[operand];
    };
    const GemmArguments arguments{.a = at(pools_.a, 0), .b = at(pools_.b, 1), .c = at(pools_.c, 2)};
    next_ = (next_ + 1) % sets_;
    return arguments;
  }

 private:
  const Pools& pools_;
  std::array<std::int64_t, 3> strides_{};
  std::int64_t sets_ = 1;
  std::int64_t next_ = 0;
};

/// One kernel on one product.
class Contender {
 public:
  Contender(Operands& operands, std::unique_ptr<plan::Executable> product, bool competes_with_teams)
      : operands_(operands), product_(std::move(product)), competes_with_teams_(competes_with_teams) {}

  /// Of one call, the lower quartile of the groups that were timed: the fastest is a team's luck, and what others do
  /// on a shared machine spoils a median of so few.
  [[nodiscard]] double lower_quartile() {
    const auto quarter = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 4);
    std::ranges::nth_element(seconds_, quarter);
    return *quarter;
  }

  /// One call ahead wakes the threads, which have slept where the contenders before this one had no use for them, or
  /// brings what they had in their caches.
  void time_group() {
    constexpr double shortest_group = 50e-6;
    const std::int64_t calls = std::clamp<std::int64_t>(std::llround(shortest_group / fastest_), 1, 1 << 12);
    if (competes_with_teams_) run();
    const Clock::time_point begin = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) run();
    seconds_.push_back(seconds_since(begin) / static_cast<double>(calls));
    fastest_ = std::min(fastest_, seconds_.back());
  }

 private:
  void run() {
    if (const Status status = product_->run(operands_.next(), {}); !status.ok()) throw std::bad_alloc();
  }

  Operands& operands_;
  std::unique_ptr<plan::Executable> product_;
  bool competes_with_teams_;
  double fastest_ = 1;
  std::vector<double> seconds_;  ///< of a call, in each group
};

/// All kernels that the model ranks, turn by turn.
TimedProduct time_all(const Drawn& drawn, const Pools& pools) {
  constexpr int rounds = 6, least_rounds = 4;
  constexpr double at_most = 0.3;    // seconds of all together, but for the least rounds
  constexpr double at_least = 0.02;  // of all together, too
  TimedProduct timed{.types = drawn.problem.description.types,
                     .is_fitted_to = true,
                     .sums_differ = sums_may_differ(drawn.problem),
                     .kernels = {}};
  Operands operands(drawn, pools);
  std::vector<Contender> contenders;
  for (const plan::KernelEntry& entry : kernel_list()) {
    if (std::ranges::find(entry.types, timed.types) == entry.types.end() || !entry.unavailable(0).empty() ||
        !entry.refuses(drawn.problem).empty())
      continue;
    latest_estimate() = {};
    static_cast<void>(entry.cost(drawn.problem));
    const auto [key, demand] = latest_estimate();
    if (key.family.empty()) continue;
    static_cast<void>(entry.cost(alone(drawn.problem)));
    timed.kernels.push_back(
        {key, demand, latest_estimate().demand, 0, timed.sums_differ || entry.gives_way(drawn.problem).empty()});
    contenders.emplace_back(operands, entry.prepare(drawn.problem), drawn.problem.threads > 1);
  }
  const Clock::time_point begin = Clock::now();
  for (int round = 0;
       round < least_rounds || (round < rounds && seconds_since(begin) < at_most) || seconds_since(begin) < at_least;
       ++round)
    for (Contender& contender : contenders) contender.time_group();
  for (std::size_t i = 0; i < contenders.size(); ++i) timed.kernels[i].seconds = contenders[i].lower_quartile();
  return timed;
}

using enum ElementType;
constexpr GemmTypes measured_types[] = {{f32, f32}, {f64, f64},   {bf16, f32},  {f16, f32},    {i8, i32},    {i32, i32},
                                        {i64, i64}, {cf32, cf32}, {cf64, cf64}, {f8e4m3, f32}, {f8e5m2, f32}};

Result<std::string> file_of(const Measuring& measuring) {
  if (measuring.device != 0)
    return Status(StatusCode::device_unavailable, fmt::format("device = {}: expected 0", measuring.device));
  const std::string file = measuring.file.empty() ? tuning::user_file() : measuring.file;
  if (file.empty())
    return Status(StatusCode::invalid_argument,
                  "file = \"\": expected a path, as neither XDG_CACHE_HOME nor HOME is set");
  if (Status s = tuning::check_file(file); !s.ok()) return s;
  return file;
}

}  // namespace

Result<Measurements> measure(const Measuring& measuring) {
  constexpr int held_out_every = 5;
  constexpr double enough_for_large = 10;  // seconds of a type, where one such product may take some
  const Result<std::string> file = file_of(measuring);
  if (!file.ok()) return file.status();
  Measurements measurements{.file = file.value(), .choices = {}};
  const int threads = core::thread_count(0);
  if (threads > 1)
    if (Status s = tuning::replace_rows(measurements.file, {measure_team(threads)}); !s.ok()) return s;
  std::mt19937_64 dice(measuring.seed);
  const Clock::time_point begin = Clock::now();
  std::size_t types_left = std::size(measured_types);
  double fitting = 1;  // takes so many times as long as measuring: as it was for the type before
  for (const GemmTypes types : measured_types) {
    // A share of what the types before it have left.
    const double now = seconds_since(begin);
    const double until = now + (measuring.seconds - now) / static_cast<double>(types_left--) / (1 + fitting);
    const bool has_time = until - now > enough_for_large;
    const Pools pools(types);
    std::vector<TimedProduct> products;
    bool goes_on = true;
    for (int index = 0; goes_on && seconds_since(begin) < until; ++index) {
      products.push_back(time_all(draw(types, index, has_time, dice), pools));
      products.back().is_fitted_to = index % held_out_every != 0;
      goes_on = measuring.goes_on(seconds_since(begin) / measuring.seconds);
    }
    const double measured = seconds_since(begin);
    const std::vector<FittedRates> fitted = fit(products);
    fitting = (seconds_since(begin) - measured) / (measured - now);
    std::vector<tuning::Row> rows;
    for (const FittedRates& one : fitted) rows.push_back(row_of(one.key, one.rates));
    if (Status s = tuning::replace_rows(measurements.file, rows); !s.ok()) return s;
    std::ranges::move(quality_of(products, fitted), std::back_inserter(measurements.choices));
    if (!goes_on) break;
  }
  return measurements;
}

}  // namespace exactile::cpu
