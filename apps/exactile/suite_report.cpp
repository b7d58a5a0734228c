// SPDX-License-Identifier: Apache-2.0
#include "suite_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "suite_file.hpp"
#include "table.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

constexpr std::string_view ours = "exactile";

/// Three digits that mean something and one more.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

double number_at(const Json& row, std::string_view key, std::string_view contender) {
  const Json* const numbers = row.find(key);
  const Json* const value = numbers == nullptr ? nullptr : numbers->find(contender);
  return value == nullptr ? 0 : value->number().value_or(0);
}

std::string word_at(const Json& row, std::string_view key) {
  const Json* const value = row.find(key);
  return value == nullptr || value->text() == nullptr ? std::string() : *value->text();
}

/// The fastest contender that is not this library; null where none was timed.
const comparison::ContenderResult* best_rival(const comparison::ComparisonResult& outcome) {
  const comparison::ContenderResult* best = nullptr;
  for (const comparison::ContenderResult& result : outcome.results)
    if (!is_ours(result.name) && result.seconds.median > 0 &&
        (best == nullptr || result.seconds.median < best->seconds.median))
      best = &result;
  return best;
}

class GeometricMean {
 public:
  void add(double value) {
    sum_ += std::log(value);
    lowest_ = count_++ == 0 ? value : std::min(lowest_, value);
  }
  [[nodiscard]] std::vector<std::string> cells() const {
    return {std::to_string(count_), fmt::format("{:.3f}", std::exp(sum_ / count_)), fmt::format("{:.3f}", lowest_)};
  }

 private:
  double sum_ = 0;
  double lowest_ = 0;
  int count_ = 0;
};

}  // namespace

bool is_ours(std::string_view contender) { return contender == ours || contender.starts_with("exactile:"); }

Json row_of(const comparison::Product& p) {
  Json row{{"type", to_string(p.types())}, {"m", p.m}, {"n", p.n}, {"k", p.k}};
  if (p.batch != 1) row["batch"] = p.batch;
  if (p.accuracy != Accuracy::standard || p.reproducible)
    row["accuracy"] = std::string(to_string(p.accuracy)) + (p.reproducible ? ", reproducible" : "");
  if (p.fill != verification::Fill::normal) row["fill"] = verification::to_string(p.fill);
  if (const std::string layout = layout_text(p); !layout.empty()) row["layout"] = layout;
  return row;
}

void add_outcome(Json& row, const comparison::Product& product, const comparison::ComparisonResult& outcome,
                 std::optional<double> peak) {
  Json gflops = Json::object(), seconds = Json::object(), spread = Json::object(), error = Json::object();
  row["rounds"] = std::max(outcome.rounds, 1);
  for (const comparison::ContenderResult& result : outcome.results) {
    if (result.name == ours && !result.kernel.empty()) row["kernel"] = result.kernel;
    if (result.norm_error > 0 && result.error.empty()) error[result.name] = rounded(result.norm_error);
    if (result.seconds.median <= 0) continue;
    seconds[result.name] = rounded(result.seconds.median);
    gflops[result.name] = rounded(product.operations() / result.seconds.median * 1e-9);
    if (result.seconds.spread > 0) spread[result.name] = rounded(result.seconds.spread);
  }
  row["gflops"] = gflops;
  row["seconds"] = seconds;
  if (!spread.members()->empty()) row["spread"] = spread;
  if (!error.members()->empty()) row["norm_error"] = error;
  const comparison::ContenderResult* const rival = best_rival(outcome);
  if (rival != nullptr && rival->ratio.all > 0) {
    row["ratio"] = rounded(rival->ratio.all);
    row["rival"] = rival->name;
  }
  const double speed = number_at(row, "gflops", ours) * 1e9;
  if (peak && *peak > 0 && speed > 0) row["fraction_of_peak"] = rounded(speed / *peak);
}

std::string suite_heading() {
  return fmt::format("{:<28} {:<9} {:<12} {:>9} {:>8} {:>7}  {:<16} {:>8}  {}\n", "product", "type", "accuracy",
                     "GFLOP/s", "of peak", "ratio", "best rival", "error", "kernel");
}

std::string suite_line(const Json& row) {
  const auto size = [&](std::string_view key) {
    const Json* const value = row.find(key);
    return static_cast<std::int64_t>(value == nullptr ? 1 : value->number().value_or(0));
  };
  const std::string shape = shape_text(comparison::Product{
      .m = size("m"), .n = size("n"), .k = size("k"), .batch = size("batch"), .a = {}, .b = {}, .c = {}});
  const std::string accuracy = word_at(row, "accuracy");
  const std::string fill = word_at(row, "fill");
  const double speed = number_at(row, "gflops", ours);
  const Json* const ratio = row.find("ratio");
  const Json* const of_peak = row.find("fraction_of_peak");
  const double error = number_at(row, "norm_error", ours);
  return fmt::format("{:<28} {:<9} {:<12} {:>9} {:>8} {:>7}  {:<16} {:>8}  {}\n",
                     fill.empty() ? shape : shape + " " + fill, word_at(row, "type"),
                     accuracy.empty() ? "standard" : accuracy, speed > 0 ? number_text(speed) : "-",
                     of_peak == nullptr ? "-" : percent_text(*of_peak->number()),
                     ratio == nullptr ? "-" : fmt::format("{:.3f}", *ratio->number()),
                     ratio == nullptr ? "-" : word_at(row, "rival"), error_text(error), word_at(row, "kernel"));
}

std::string means_text(const std::vector<Json>& rows) {
  std::map<std::string, std::map<std::string, GeometricMean>> means;  // by type and rival; "" is the best one
  for (const Json& row : rows) {
    const double speed = number_at(row, "gflops", ours);
    const Json* const gflops = row.find("gflops");
    if (speed <= 0 || gflops == nullptr || gflops->members() == nullptr) continue;
    const std::string accuracy = word_at(row, "accuracy");
    const std::string type = word_at(row, "type") + (accuracy.empty() ? "" : " " + accuracy);
    if (const Json* const ratio = row.find("ratio")) means[type][""].add(*ratio->number());
    for (const Json::Member& member : *gflops->members())
      if (!is_ours(member.key)) means[type][member.key].add(speed / *member.value.number());
  }
  if (means.empty()) return {};
  Table table({"exactile's speed over", "type", "products", "mean", "lowest"});
  for (const auto& [type, rivals] : means)
    for (const auto& [rival, mean] : rivals) {
      std::vector<std::string> cells = mean.cells();
      cells.insert(cells.begin(), {rival.empty() ? "the best rival" : rival, type});
      table.add(std::move(cells));
    }
  table.align_left({1});
  return table.text();
}

}  // namespace exactile::program
