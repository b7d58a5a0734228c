// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "means.hpp"
#include "report.hpp"

namespace exactile::bench {
namespace {

std::string speed_text(const Score& score) {
  if (!score.ran) return "-";
  return score.error.empty() ? fmt::format("{:.2f}", score.gflops) : "WRONG";
}

std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.3f}", ratio) : "-"; }

void print_layouts(const Row& row) {
  fmt::print("\n{} {}, layouts of exactile, speed over the plain case\n", to_string(row.type), to_string(row.shape));
  for (const Score& score : row.scores)
    fmt::print("  {:<16} {:>10} GFLOP/s  {:>6}\n", score.name, speed_text(score),
               ratio_text(score.ratio > 0 ? 1 / score.ratio : 0));
}

/// Wide enough for the contender's name and for "1234567.89".
int width_of(const Score& score) { return std::max(12, static_cast<int>(score.name.size()) + 2); }

/// The heading is repeated for each group and type, because a long run scrolls.
void print_heading(const Row& row) {
  static std::string last;
  const std::string heading = fmt::format("{} {}", row.group, to_string(row.type));
  if (heading == last) return;
  last = heading;
  fmt::print("\n{:<22}", heading + ", GFLOP/s");
  for (const Score& score : row.scores) fmt::print("{:>{}}", score.name, width_of(score));
  fmt::print("  {:>6}", "ratio");
  if (row.peak > 0) fmt::print("  {:>7}", "of peak");
  fmt::print("  {:<18}  errors over bound; in the Frobenius norm\n", "best rival");
}

}  // namespace

void print_versions(const Setting& setting) {
  for (const auto& [name, version] : setting.versions) fmt::print("{:<18} {}\n", name, version);
  fmt::print("threads            {}\n", setting.threads);
  fmt::print("fill               {}\n", setting.fill);
  if (!setting.prepared.empty()) fmt::print("prepared           {}\n", setting.prepared);
}

void print_row(const Row& row, const Setting& setting) {
  if (row.layouts) {
    print_layouts(row);
  } else {
    print_heading(row);
    fmt::print("{:<22}", to_string(row.shape));
    for (const Score& score : row.scores) fmt::print("{:>{}}", speed_text(score), width_of(score));
    const Score* best = best_of_rivals(row, setting);
    fmt::print("  {:>6}", ratio_text(best != nullptr ? best->ratio : 0));
    if (row.peak > 0) fmt::print("  {:>7.3f}", row.scores.front().gflops * 1e9 / row.peak);
    fmt::print("  {:<18} ", best != nullptr ? best->name : "-");
    for (const Score& score : row.scores) fmt::print(" {}", score.ran ? fmt::format("{:.1e}", score.over_bound) : "-");
    fmt::print(" ;");
    for (const Score& score : row.scores) fmt::print(" {}", score.ran ? fmt::format("{:.1e}", score.norm_error) : "-");
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void print_means(const std::vector<Row>& rows, const Setting& setting) {
  if (setting.rivals_only) return;
  fmt::print("\ngeometric means of exactile's speed over each rival's\n");
  for (const GroupMean& group : group_means(rows, setting)) {
    fmt::print("  {} {}: over the best {:.3f} (lowest {:.3f}, {} shapes)", group.name, to_string(group.type),
               group.over_best, group.lowest, group.shapes);
    for (const auto& [rival, mean] : group.over_each) fmt::print("; {} {:.2f}", rival, mean);
    if (group.of_peak > 0) fmt::print("; of peak {:.3f}", group.of_peak);
    fmt::print("\n");
  }
}

}  // namespace exactile::bench
