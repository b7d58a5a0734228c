// SPDX-License-Identifier: Apache-2.0
#include "means.hpp"

#include <algorithm>
#include <cmath>

namespace exactile::bench {
namespace {

class GeometricMean {
 public:
  void add(double value) {
    if (!(value > 0)) return;
    sum_ += std::log(value);
    ++count_;
    lowest_ = count_ == 1 ? value : std::min(lowest_, value);
  }
  [[nodiscard]] double value() const { return count_ == 0 ? 0 : std::exp(sum_ / count_); }
  [[nodiscard]] double lowest() const { return lowest_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  double sum_ = 0;
  double lowest_ = 0;
  int count_ = 0;
};

struct Collected {
  std::string name;
  GemmTypes type;
  GeometricMean over_best;
  GeometricMean of_peak;
  std::map<std::string, GeometricMean> over_each;
};

Collected& group_of(std::vector<Collected>& groups, const Row& row) {
  const auto same = [&row](const Collected& g) { return g.name == row.group && g.type == row.type; };
  const auto found = std::find_if(groups.begin(), groups.end(), same);
  if (found != groups.end()) return *found;
  groups.push_back({.name = row.group, .type = row.type, .over_best = {}, .of_peak = {}, .over_each = {}});
  return groups.back();
}

void collect(Collected& group, const Row& row, const Setting& setting) {
  if (const Score* best = best_of_rivals(row, setting)) group.over_best.add(best->ratio);
  for (std::size_t i = 1; i < row.scores.size(); ++i) group.over_each[row.scores[i].name].add(row.scores[i].ratio);
  if (row.peak > 0) group.of_peak.add(row.scores.front().gflops * 1e9 / row.peak);
}

GroupMean finish(const Collected& group) {
  GroupMean mean{.name = group.name,
                 .type = group.type,
                 .shapes = group.over_best.count(),
                 .over_best = group.over_best.value(),
                 .lowest = group.over_best.lowest(),
                 .of_peak = group.of_peak.value(),
                 .over_each = {}};
  for (const auto& [rival, collected] : group.over_each)
    if (collected.count() > 0) mean.over_each[rival] = collected.value();
  return mean;
}

}  // namespace

const Score* best_of_rivals(const Row& row, const Setting& setting) {
  const Score* best = nullptr;
  for (std::size_t i = setting.rivals_only ? 0 : 1; i < row.scores.size(); ++i)
    if (row.scores[i].gflops > 0 && (best == nullptr || row.scores[i].gflops > best->gflops)) best = &row.scores[i];
  return best;
}

std::vector<GroupMean> group_means(const std::vector<Row>& rows, const Setting& setting) {
  std::vector<Collected> groups;
  for (const Row& row : rows)
    if (!row.layouts) collect(group_of(groups, row), row, setting);
  std::vector<GroupMean> means;
  means.reserve(groups.size());
  for (const Collected& group : groups) means.push_back(finish(group));
  return means;
}

}  // namespace exactile::bench
