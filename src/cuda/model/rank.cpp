// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/rank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "plan/column_major.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::model {
namespace {

/// Where a product lies among others: logarithms of its sizes, and how operands lie.
struct Place {
  std::array<double, 4> sizes;    ///< log2 of m, n, k and the batch
  std::array<int, 2> directions;  ///< of A and B: 0 along K, 1 across, 2 neither
  std::array<int, 2> alignments;  ///< of their rows: 0 whole lines of 128 bytes, 1 of 32, 2 of 16, 3 less
  bool is_c_aligned;              ///< its rows to 16 bytes
};

int direction(std::int64_t along_k, std::int64_t across) { return along_k == 1 ? 0 : across == 1 ? 1 : 2; }

int alignment(std::int64_t along_k, std::int64_t across, std::int64_t size) {
  const std::int64_t pitch = size * std::max(std::abs(along_k), std::abs(across));
  return pitch % 128 == 0 ? 0 : pitch % 32 == 0 ? 1 : pitch % 16 == 0 ? 2 : 3;
}

Place place_of(const GemmDescription& d) {
  const auto log = [](std::int64_t size) { return std::log2(static_cast<double>(std::max<std::int64_t>(size, 1))); };
  const std::int64_t size = size_in_bytes(d.types.input);
  return {.sizes = {log(d.m), log(d.n), log(d.k), log(d.batch_count)},
          .directions = {direction(d.a.column_stride, d.a.row_stride), direction(d.b.row_stride, d.b.column_stride)},
          .alignments = {alignment(d.a.column_stride, d.a.row_stride, size),
                         alignment(d.b.row_stride, d.b.column_stride, size)},
          .is_c_aligned = d.c.row_stride * size_in_bytes(d.types.output) % 16 == 0};
}

/// In octaves of a size, squared; another direction, or other rows' alignment, is worth one.
double squared_distance(const Place& x, const Place& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.sizes.size(); ++i) sum += (x.sizes[i] - y.sizes[i]) * (x.sizes[i] - y.sizes[i]);
  for (std::size_t i = 0; i < x.directions.size(); ++i)
    sum += (x.directions[i] != y.directions[i] ? 1 : 0) + (x.alignments[i] != y.alignments[i] ? 1 : 0);
  return sum + (x.is_c_aligned != y.is_c_aligned ? 1 : 0);
}

/// Of a way; numbers of splits of one power of two are alike.
std::size_t key_of(const Kernel* kernel, const Configuration& c) {
  std::size_t key = reinterpret_cast<std::uintptr_t>(kernel) * 0x9e3779b97f4a7c15U;
  for (const int size : {c.bm, c.bn, c.cluster_m, c.cluster_n, c.cluster_k, c.slice_k, c.ctas, c.warps, c.stages,
                         c.pack, c.swap, static_cast<int>(std::lround(std::log2(std::max(1, c.split_k))))})
    key = (key ^ static_cast<std::size_t>(size)) * 0x100000001b3U;
  return key;
}

/// Of what a kernel is compiled for: without how K is split in memory and which way round.
std::size_t key_of_tile(const Kernel* kernel, Configuration c) {
  c.split_k = c.swap = c.pack = 0;
  return key_of(kernel, c);
}

GemmDescription row_major(const GemmDescription& d) { return plan::is_column_major(d) ? plan::transposed(d) : d; }

}  // namespace

struct DeviceModel::Neighbour {
  const std::unordered_map<std::size_t, float>* errors;
  double weight;
};

/// The errors of the formula at measured products, logarithms of measured over estimated; of each product once asked.
class DeviceModel::Corrections {
 public:
  Corrections(const DeviceRows& rows, std::span<const Kernel* const> kernels) {
    std::vector<std::size_t> tiles;
    for (const Way& way : rows.ways) {
      const auto kernel = std::ranges::find(kernels, way.kernel, &Kernel::name);
      tiles.push_back(kernel == kernels.end() ? 0 : key_of_tile(*kernel, way.configuration));
    }
    for (const MeasuredProduct& product : rows.products) {
      products_.push_back({place_of(product.description), &product, std::nullopt});
      for (const Time& time : product.times)
        first_with_.try_emplace(tiles[static_cast<std::size_t>(time.way)], &product);
    }
  }

  struct Product {
    Place place;
    const MeasuredProduct* measured;
    std::optional<std::unordered_map<std::size_t, float>> errors;
  };

  /// What was asked last, as all kernels of a product ask.
  struct Answer {
    GemmDescription description;
    Accuracy accuracy = Accuracy::standard;
    const MeasuredProduct* left_out = nullptr;
    std::vector<Neighbour> neighbours;
  };

  std::mutex mutex;
  Answer latest;
  std::vector<Product>& products() { return products_; }
  /// Whether the tile was there when the product was measured: rows are added in the order of time, and those from
  /// before a tile say nothing of it.
  [[nodiscard]] bool was_there(const Kernel* kernel, const Configuration& c, const MeasuredProduct& product) const {
    const auto first = first_with_.find(key_of_tile(kernel, c));
    return first != first_with_.end() && first->second <= &product;
  }

 private:
  std::vector<Product> products_;
  std::unordered_map<std::size_t, const MeasuredProduct*> first_with_;
};

namespace {

struct TimeOfWay {
  Configuration configuration;
  double seconds;
};

/// What a kernel's ways took.
std::vector<TimeOfWay> times_of(std::string_view kernel, const MeasuredProduct& product, const std::vector<Way>& ways) {
  std::vector<TimeOfWay> times;
  for (const Time& time : product.times)
    if (const Way& way = ways[static_cast<std::size_t>(time.way)]; way.kernel == kernel)
      times.push_back({way.configuration, time.seconds});
  return times;
}

/// The measured seconds of a candidate; of the nearest number of splits.
std::optional<double> measured_seconds(const std::vector<TimeOfWay>& times, const Configuration& c) {
  std::optional<double> seconds;
  double nearest = std::numeric_limits<double>::infinity();
  for (const TimeOfWay& time : times) {
    Configuration same = time.configuration;
    same.split_k = c.split_k;
    if (same != c) continue;
    const double apart = std::abs(std::log2(std::max(1, time.configuration.split_k) / std::max(1.0, 1.0 * c.split_k)));
    if (apart > 0.5 || apart >= nearest) continue;
    nearest = apart;
    seconds = time.seconds;
  }
  return seconds;
}

}  // namespace

bool can_do(const Kernel& kernel, const plan::Problem& problem, const Device& device) {
  return kernel.role == "engine" && std::ranges::find(kernel.types, problem.description.types) != kernel.types.end() &&
         device.compute_capability >= kernel.least_capability && device.compute_capability <= kernel.most_capability &&
         kernel.refuses(problem, device).empty();
}

RatesKey rates_key(const Kernel& kernel, ElementType type, const Candidate& candidate, const Device& device) {
  const Multiplier* multiplier = multiplier_of(kernel, type, device.compute_capability);
  const auto [path, store] = std::pair(candidate.demand.path, candidate.demand.store);
  return multiplier == nullptr ? rates_key(kernel.name, type, candidate.configuration, path, store)
                               : rates_key(multiplier->kernel->name, multiplier->kernel->types.front().input,
                                           candidate.configuration, path, store);
}

DeviceModel::DeviceModel(const Device& device, DeviceRows rows, std::span<const Kernel* const> kernels)
    : device_(device),
      rows_(std::move(rows)),
      kernels_(kernels),
      per_sm_(rows_.facts.clock_hertz > 0 ? rows_.facts.clock_hertz / device.clock_hertz : 1),
      corrections_(std::make_shared<Corrections>(rows_, kernels_)) {}

const Rates* DeviceModel::rates_of(const Kernel& kernel, const GemmDescription& d, const Candidate& candidate) const {
  RatesKey key = rates_key(kernel, d.types.input, candidate, device_);
  auto found = rows_.rates.find(key);
  if (found == rows_.rates.end() && key.store != 0) {  // as if C lay better: only a tile's time would be another
    key.store = 0;
    found = rows_.rates.find(key);
  }
  return found == rows_.rates.end() ? nullptr : &found->second;
}

bool DeviceModel::knows(const Kernel& kernel, const GemmDescription& d, const Candidate& candidate) const {
  return rates_of(kernel, d, candidate) != nullptr;
}

double DeviceModel::formula(const Kernel& kernel, const GemmDescription& d, const Candidate& candidate) const {
  if (const Rates* rates = rates_of(kernel, d, candidate))
    return seconds(candidate.demand, {per_sm_ * rates->step, per_sm_ * rates->tile, rates->head}, rows_.overheads,
                   device_);
  const Configuration& c = candidate.configuration;
  const double tile = static_cast<double>(std::max(1, c.bm)) * std::max(1, c.bn) * static_cast<double>(d.k);
  const double whole = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) *
                       static_cast<double>(d.batch_count) / device_.sm_count;
  constexpr double never_measured = 1e3;
  return never_measured *
         (rows_.overheads.launch + std::max(whole, tile / std::max(1, c.split_k)) / device_.clock_hertz);
}

std::vector<DeviceModel::Neighbour> DeviceModel::neighbours(const GemmDescription& description, Accuracy accuracy,
                                                            const MeasuredProduct* left_out) const {
  constexpr std::size_t most = 32;
  constexpr double width = 0.9;  // of the bell of weights, in octaves
  const std::lock_guard lock(corrections_->mutex);
  Corrections::Answer& latest = corrections_->latest;
  if (latest.description == description && latest.accuracy == accuracy && latest.left_out == left_out)
    return latest.neighbours;
  const Place place = place_of(description);
  std::vector<std::pair<double, Corrections::Product*>> near;
  for (auto& product : corrections_->products())
    if (product.measured->description.types.input == description.types.input &&
        product.measured->accuracy == accuracy && product.measured != left_out)
      near.emplace_back(squared_distance(place, product.place), &product);
  std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(std::min(most, near.size())), {},
                            [](const auto& pair) { return pair.first; });
  near.resize(std::min(most, near.size()));
  std::vector<Neighbour> found;
  for (const auto& [distance, product] : near) {
    const double weight = std::exp(-distance / (2 * width * width));
    if (!product->errors) {
      auto& errors = product->errors.emplace();
      const GemmDescription& d = product->measured->description;
      const plan::Problem problem{.description = d, .accuracy = product->measured->accuracy, .memory = Memory::device};
      double best = std::numeric_limits<double>::infinity();
      for (const Time& time : product->measured->times) best = std::min(best, time.seconds);
      for (const Kernel* kernel : kernels_) {
        if (!can_do(*kernel, problem, rows_.facts)) continue;
        const std::vector<TimeOfWay> times = times_of(kernel->name, *product->measured, rows_.ways);
        for (const Candidate& candidate : kernel->candidates(problem, rows_.facts)) {
          const Rates* rates = rates_of(*kernel, d, candidate);
          if (rates == nullptr) continue;
          const double estimated = seconds(candidate.demand, *rates, rows_.overheads, rows_.facts);
          const auto measured = measured_seconds(times, candidate.configuration);
          // What is not listed took longer than all that is.
          if (!measured && (estimated >= kept * best ||
                            !corrections_->was_there(kernel, candidate.configuration, *product->measured)))
            continue;
          const double error = std::log(measured.value_or(kept * best) / estimated);
          const auto [at, is_new] = errors.try_emplace(key_of(kernel, candidate.configuration), error);
          if (!is_new) at->second = std::min(at->second, static_cast<float>(error));
        }
      }
    }
    found.push_back({&*product->errors, weight});
  }
  latest = {description, accuracy, left_out, found};
  return found;
}

/// Measured products say nothing of the passes.
std::vector<Ranked> DeviceModel::rank_multiplier(const Multiplier& multiplier, const plan::Problem& problem,
                                                 std::span<const Candidate> candidates, bool corrected,
                                                 const MeasuredProduct* left_out) const {
  plan::Problem multiplied = problem;
  multiplied.description = multiplier.product(problem);
  multiplied.accuracy = Accuracy::standard;
  const Demand passes = multiplier.passes(problem);
  std::vector<Candidate> alone(candidates.begin(), candidates.end());
  for (Candidate& candidate : alone) {
    candidate.demand.copied_bytes -= passes.copied_bytes;
    candidate.demand.side_kernels -= passes.side_kernels;
  }
  std::vector<Ranked> ranked = rank(*multiplier.kernel, multiplied, alone, corrected, left_out);
  const double beside = seconds(passes, {}, rows_.overheads, device_) - rows_.overheads.launch;
  for (Ranked& way : ranked) {
    way.seconds += beside;
    way.launches += passes.side_kernels;
  }
  return ranked;
}

std::vector<Ranked> DeviceModel::on_stream(std::vector<Ranked> ranked) const {
  for (Ranked& way : ranked) way.seconds = std::max(way.seconds, host_seconds(way.launches, rows_.overheads));
  std::ranges::stable_sort(ranked, {}, &Ranked::seconds);
  return ranked;
}

std::vector<Ranked> DeviceModel::rank(const Kernel& kernel, const plan::Problem& problem,
                                      std::span<const Candidate> candidates, bool corrected,
                                      const MeasuredProduct* left_out) const {
  if (const Multiplier* multiplier = multiplier_of(kernel, problem.description.types.input, device_.compute_capability))
    return rank_multiplier(*multiplier, problem, candidates, corrected, left_out);
  constexpr double doubt = 0.1;  // the weight of the formula's being right
  const GemmDescription& description = problem.description;
  const GemmDescription d = row_major(description);
  const bool is_turned = !(d == description);
  const std::vector<Neighbour> near = corrected ? neighbours(d, problem.accuracy, left_out) : std::vector<Neighbour>();
  std::vector<Ranked> ranked;
  for (const Candidate& candidate : candidates) {
    Configuration c = candidate.configuration;
    double weights = doubt, errors = 0;
    for (int turn = 0; turn < 2 && errors == 0; ++turn) {
      if (is_turned && turn == 0) c.swap = 1 - c.swap;
      if (turn == 1) c = candidate.configuration;
      const std::size_t key = key_of(&kernel, c);
      for (const Neighbour& neighbour : near)
        if (const auto error = neighbour.errors->find(key); error != neighbour.errors->end()) {
          weights += neighbour.weight;
          errors += neighbour.weight * error->second;
        }
      if (!is_turned) break;
    }
    ranked.push_back({candidate.configuration, formula(kernel, description, candidate) * std::exp(errors / weights),
                      1 + candidate.demand.side_kernels});
  }
  std::ranges::stable_sort(ranked, {}, &Ranked::seconds);
  return ranked;
}

}  // namespace exactile::cuda::model
