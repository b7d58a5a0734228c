// SPDX-License-Identifier: Apache-2.0
#include "regret_rows.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

namespace exactile::bench {
namespace {

Json json_of(const Raced& raced, const KernelTime& time) {
  const Product& p = raced.product;
  Json row{{"type", raced.type},
           {"product", raced.index},
           {"m", p.m},
           {"n", p.n},
           {"k", p.k},
           {"a_transposed", p.a.transposed},
           {"b_transposed", p.b.transposed},
           {"kernel", time.kernel},
           {"parameters", time.parameters},
           {"chosen", time.chosen},
           {"planning", time.planning},
           {"estimate", time.estimate},
           {"seconds", time.seconds},
           {"spread", time.spread}};
  if (time.again > 0) row["again"] = time.again;
  return row;
}

KernelTime time_of(const Json& row) {
  return {.kernel = row.at("kernel"),
          .parameters = row.at("parameters"),
          .chosen = row.at("chosen"),
          .estimate = row.at("estimate"),
          .seconds = row.at("seconds"),
          .spread = row.at("spread"),
          .again = row.value("again", 0.0),
          .planning = row.at("planning")};
}

Raced raced_of(const Json& row) {
  Raced raced{.type = row.at("type"), .index = row.at("product"), .product = {}, .times = {}};
  Product& p = raced.product;
  p.m = row.at("m");
  p.n = row.at("n");
  p.k = row.at("k");
  p.a.transposed = row.at("a_transposed");
  p.b.transposed = row.at("b_transposed");
  return raced;
}

const KernelTime& chosen_of(const std::vector<KernelTime>& times) {
  return *std::ranges::find_if(times, &KernelTime::chosen);
}

/// Seconds of planning beyond ten calls of what was chosen.
double planning_beyond_calls(const Raced& raced) {
  constexpr double calls = 10;
  const KernelTime& chosen = chosen_of(raced.times);
  return chosen.planning - calls * chosen.seconds;
}

/// Of those that were timed a second time: the chosen, and the best where that is another.
const KernelTime& best_of(const std::vector<KernelTime>& times) {
  return *std::ranges::min_element(times, {}, [](const KernelTime& t) { return std::pair(t.again == 0, t.chosen); });
}

Json shape_of(const Raced& raced, double its_regret) {
  const Product& p = raced.product;
  const KernelTime& best = best_of(raced.times);
  return {{"product", raced.index},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"a_transposed", p.a.transposed},
          {"b_transposed", p.b.transposed},
          {"regret", its_regret},
          {"chosen", chosen_of(raced.times).kernel},
          {"best", best.parameters.empty() ? best.kernel : best.kernel + " " + best.parameters}};
}

}  // namespace

RowsFile::RowsFile(std::string path, const Json& header) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (std::filesystem::exists(path_) && std::filesystem::file_size(path_) > 0) {
    read(header);
    return;
  }
  std::ofstream file(path_);
  file << header.dump() << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path_);
}

void RowsFile::read(const Json& header) {
  std::ifstream file(path_);
  std::uintmax_t whole = 0;
  int number = 0;
  for (std::string line; std::getline(file, line) && !file.eof(); ++number) {
    const Json row = Json::parse(line, nullptr, false);
    if (row.is_discarded() || (number == 0 && row != header))
      throw std::runtime_error(path_ + ": expected the rows of this run, whose first line is " + header.dump());
    whole += line.size() + 1;
    if (number == 0) continue;
    if (raced_.empty() || raced_.back().type != row.at("type") || raced_.back().index != row.at("product"))
      raced_.push_back(raced_of(row));
    raced_.back().times.push_back(time_of(row));
  }
  file.close();
  std::filesystem::resize_file(path_, whole);
}

bool RowsFile::has(const std::string& type, int index) const {
  return std::ranges::any_of(raced_, [&](const Raced& r) { return r.type == type && r.index == index; });
}

void RowsFile::add(Raced raced) {
  std::string lines;
  for (const KernelTime& time : raced.times) lines += json_of(raced, time).dump() + '\n';
  raced_.push_back(std::move(raced));
  if (path_.empty()) return;
  std::ofstream file(path_, std::ios::app);
  file << lines;
  if (!file.flush()) throw std::runtime_error("cannot write " + path_);
}

Json summary_of(const std::vector<Raced>& raced) {
  constexpr std::size_t shown = 10;
  constexpr double bad = 1.1;
  std::vector<std::string> types;
  std::map<std::string, std::vector<std::pair<double, const Raced*>>> by_type;
  for (const Raced& one : raced) {
    if (!by_type.contains(one.type)) types.push_back(one.type);
    by_type[one.type].emplace_back(regret(one.times), &one);
  }
  Json summary = Json::array();
  for (const std::string& type : types) {
    auto& regrets = by_type[type];
    std::ranges::sort(regrets, std::greater<>(), [](const auto& entry) { return entry.first; });
    double logarithms = 0;
    for (const auto& entry : regrets) logarithms += std::log(entry.first);
    const auto count = static_cast<double>(regrets.size());
    const auto above = std::ranges::count_if(regrets, [](const auto& entry) { return entry.first > bad; });
    double of_the_first = 0, planning = 0;  // the first product of a type waits for rows and kernels to be loaded
    for (const auto& [unused, product] : regrets) {
      double& most = product->index == 0 ? of_the_first : planning;
      most = std::max(most, planning_beyond_calls(*product));
    }
    Json worst = Json::array();
    for (std::size_t i = 0; i < std::min(shown, regrets.size()) && regrets[i].first > 1; ++i)
      worst.push_back(shape_of(*regrets[i].second, regrets[i].first));
    summary.push_back({{"type", type},
                       {"products", regrets.size()},
                       {"mean", std::exp(logarithms / count)},
                       {"worst", regrets.front().first},
                       {"share_above_1.1", static_cast<double>(above) / count},
                       {"planning_seconds_beyond_ten_calls", planning},
                       {"the_first_products_planning_seconds", of_the_first},
                       {"worst_products", worst}});
  }
  return summary;
}

}  // namespace exactile::bench
