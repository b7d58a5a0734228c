// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "means.hpp"
#include "report.hpp"

namespace exactile::bench {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Score& score) {
  Json json{{"name", score.name}};
  if (!score.ran) return json;
  if (!score.error.empty()) {
    json["error"] = score.error;
    return json;
  }
  json["median_seconds"] = score.time.median_seconds;
  json["min_seconds"] = score.time.min_seconds;
  json["spread"] = score.time.spread;
  json["gflops"] = score.gflops;
  json["error_over_bound"] = score.over_bound;
  json["relative_error"] = score.relative_error;
  json["norm_error"] = score.norm_error;
  json["ratio"] = score.ratio;
  json["ratio_ours_first"] = score.ratio_first_entrant_first;
  json["ratio_rivals_first"] = score.ratio_first_entrant_last;
  return json;
}

Json json_of(const Row& row, const Setting& setting) {
  Json json{{"group", row.group}, {"type", to_string(row.type)}, {"m", row.shape.m}, {"n", row.shape.n},
            {"k", row.shape.k},   {"batch", row.shape.batch}};
  for (const Score& score : row.scores) json["contenders"].push_back(json_of(score));
  if (row.layouts) return json;
  if (const Score* best = best_of_rivals(row, setting)) {
    json["best_rival"] = best->name;
    json["ratio"] = best->ratio;
  }
  if (row.peak > 0) {
    json["peak_gflops"] = row.peak * 1e-9;
    json["fraction_of_peak"] = row.scores.front().gflops * 1e9 / row.peak;
  }
  return json;
}

Json json_of(const GroupMean& mean) {
  Json json{{"group", mean.name},          {"type", to_string(mean.type)}, {"shapes", mean.shapes},
            {"over_best", mean.over_best}, {"lowest", mean.lowest},        {"over_each", mean.over_each}};
  if (mean.of_peak > 0) json["fraction_of_peak"] = mean.of_peak;
  return json;
}

}  // namespace

void write_json(const std::string& path, const std::vector<Row>& rows, const Setting& setting) {
  Json json{{"schema", "exactile.compare/1"}, {"threads", setting.threads}, {"fill", setting.fill}};
  if (!setting.prepared.empty()) json["prepared"] = setting.prepared;
  for (const auto& [name, version] : setting.versions)
    json["contenders"].push_back({{"name", name}, {"version", version}});
  json["results"] = Json::array();
  json["layouts"] = Json::array();
  for (const Row& row : rows) json[row.layouts ? "layouts" : "results"].push_back(json_of(row, setting));
  if (!setting.rivals_only)
    for (const GroupMean& mean : group_means(rows, setting)) json["groups"].push_back(json_of(mean));
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace exactile::bench
