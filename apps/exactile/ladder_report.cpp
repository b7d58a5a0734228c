// SPDX-License-Identifier: Apache-2.0
#include "ladder_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ladder.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

std::string over_bound_text(const verification::ErrorReport& error) {
  return error.passed ? number_text(error.error_over_bound) : "FAILED";
}

/// Whether there is a row of a device whose operands had to be moved.
bool any_copies(const std::vector<Measurement>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Measurement& row) { return row.seconds_with_copies; });
}

std::vector<std::string> titles(bool with_copies) {
  std::vector<std::string> all{"kernel",  "time",  "copied", "speed-up", "GFLOP/s", "of peak",
                               "traffic", "x min", "GB/s",   "error/u",  "norm",    "x bound"};
  if (!with_copies) all.erase(all.begin() + 2);
  return all;
}

/// As short as a table of 120 columns wants it.
std::string shown_name(const Measurement& row) {
  if (row.accuracy == Accuracy::standard) return row.summary.kernel;
  // Short, so that a line has 120 columns at most.
  const std::string_view kept = row.accuracy == Accuracy::correctly_rounded ? "cr"
                                : row.accuracy == Accuracy::compensated     ? "cmp"
                                                                            : to_string(row.accuracy);
  return fmt::format("{}/{}", row.summary.kernel, kept);
}

std::vector<std::string> cells(const Measurement& row, const std::vector<Measurement>& rows, bool with_copies) {
  const double ratio = speedup(row, rows);
  const PlanSummary& s = row.summary;
  std::vector<std::string> all{shown_name(row),
                               seconds_text(row.timing.median_seconds) + (row.partial() ? "*" : ""),
                               row.seconds_with_copies ? seconds_text(*row.seconds_with_copies) : "-",
                               ratio > 0 ? fmt::format("{}x", number_text(ratio)) : "-",
                               number_text(row.operations_per_second * 1e-9),
                               row.fraction_of_peak ? percent_text(*row.fraction_of_peak) : "-",
                               bytes_text(s.model_bytes),
                               s.minimum_bytes > 0 ? number_text(s.model_bytes / s.minimum_bytes) : "-",
                               number_text(row.bytes_per_second() * 1e-9),
                               number_text(row.error.error_in_u),
                               error_text(row.error.norm_error),
                               over_bound_text(row.error)};
  if (!with_copies) all.erase(all.begin() + 2);
  return all;
}

/// The devices that ran, each once, with the peak that the fractions mean.
std::string peaks_text(const std::vector<Measurement>& rows) {
  std::string text;
  std::vector<Backend> seen;
  for (const Measurement& row : rows) {
    if (std::find(seen.begin(), seen.end(), row.summary.backend) != seen.end()) continue;
    seen.push_back(row.summary.backend);
    text += fmt::format("{}: {}", to_string(row.summary.backend), device_name(row));
    if (row.fraction_of_peak && *row.fraction_of_peak > 0)
      text += fmt::format(", peak {} GFLOP/s (measured)",
                          number_text(row.operations_per_second / *row.fraction_of_peak * 1e-9));
    text += "\n";
  }
  return text;
}

/// How fast each is beside the fastest, where the terminal is wide enough; the columns of traffic give way to it.
void add_bars(const std::vector<Measurement>& rows, Table& table) {
  constexpr int width = 16;
  constexpr int between = 2;
  const int columns = terminal_columns();
  if (table.width() + between + width > columns) {
    Table narrow = table;
    narrow.remove({"traffic", "x min", "GB/s"});
    if (narrow.width() + between + width > columns) return;
    table = narrow;
  }
  double fastest = 0;
  for (const Measurement& row : rows) fastest = std::max(fastest, row.operations_per_second);
  std::vector<std::string> bars;
  for (const Measurement& row : rows) {
    const Colour colour = !row.error.passed                      ? Colour::red
                          : row.operations_per_second == fastest ? Colour::green
                                                                 : Colour::cyan;
    bars.push_back(coloured(bar(row.operations_per_second / fastest, width), colour));
  }
  table.add_last(std::move(bars));
}

/// All of a few, the first of many.
std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t few = 5;
  const std::size_t more = names.size() > few ? names.size() - few : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

double speedup(const Measurement& measurement, const std::vector<Measurement>& rows) {
  for (const Measurement& row : rows) {
    const GemmDescription& d = row.description;
    if (row.summary.kernel == base_kernel && d == measurement.description && measurement.timing.median_seconds > 0)
      return row.timing.median_seconds / measurement.timing.median_seconds;
  }
  return 0;
}

void note_skipped(const std::vector<SkippedKernel>& skipped) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // in the order of their first kernel
  for (const SkippedKernel& s : skipped) {
    auto known = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == s.reason; });
    if (known == reasons.end()) known = reasons.insert(reasons.end(), {s.reason, {}});
    known->second.push_back(s.kernel);
  }
  for (const auto& [reason, names] : reasons) note("not run ({}): {}", reason, some_of(names));
}

void print_ladder_text(const LadderReport& report, LadderText as) {
  if (report.rows.empty()) return;
  const GemmDescription& d = report.rows.front().description;
  print_result("C ({} x {}) = A ({} x {}) * B ({} x {}), {}, {} data, up to {} thread{}\n", d.m, d.n, d.m, d.k, d.k,
               d.n, to_string(d.types), report.fill, report.threads, report.threads == 1 ? "" : "s");
  print_result("{}least traffic: {} (each input once, the output once)\n\n", peaks_text(report.rows),
               bytes_text(report.rows.front().summary.minimum_bytes));
  const bool with_copies = any_copies(report.rows);
  Table table(titles(with_copies));
  for (const Measurement& row : report.rows) table.add(cells(row, report.rows, with_copies));
  if (as == LadderText::terminal) add_bars(report.rows, table);
  print_result("{}{}", as == LadderText::markdown ? table.markdown() : table.text(),
               as == LadderText::markdown ? "\n" : "");
  for (const Measurement& row : report.rows) {
    if (row.partial())
      print_result("* {}: timed on {} of its {} rows, and multiplied\n", row.summary.kernel, row.timed_rows,
                   row.description.m);
    if (!row.error.passed) print_result("{} FAILED: {}\n", row.summary.kernel, row.error.failure);
  }
  note_skipped(report.skipped);
}

void print_ladder_csv(const LadderReport& report) {
  print_result(
      "kernel,backend,type,m,n,k,threads,median_seconds,seconds_with_copies,speedup,gflops,fraction_of_peak,"
      "model_bytes,minimum_bytes,gbytes_per_second,error_in_u,norm_error,error_over_bound,passed,timed_rows,"
      "accuracy\n");
  const auto known = [](double value, bool is_known) { return is_known ? fmt::format("{}", value) : std::string(); };
  for (const Measurement& row : report.rows) {
    const GemmDescription& d = row.description;
    const double ratio = speedup(row, report.rows);
    print_result("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", row.summary.kernel,
                 exactile::to_string(row.summary.backend), exactile::to_string(d.types), d.m, d.n, d.k,
                 row.summary.threads, row.timing.median_seconds,
                 known(row.seconds_with_copies.value_or(0), !!row.seconds_with_copies), known(ratio, ratio > 0),
                 row.operations_per_second * 1e-9, known(row.fraction_of_peak.value_or(0), !!row.fraction_of_peak),
                 row.summary.model_bytes, row.summary.minimum_bytes, row.bytes_per_second() * 1e-9,
                 row.error.error_in_u, row.error.norm_error, row.error.error_over_bound, row.error.passed,
                 row.timed_rows, exactile::to_string(row.accuracy));
  }
  note_skipped(report.skipped);
}

void print_ladder_json(const LadderReport& report) {
  Json json = document("ladder");
  json["device"] = report.rows.empty() ? "" : device_name(report.rows.back());
  json["threads"] = report.threads;
  json["fill"] = report.fill;
  json["results"] = Json::array();
  for (const Measurement& row : report.rows) {
    Json entry = row_json(row);
    const double ratio = speedup(row, report.rows);
    entry["speedup"] = ratio > 0 ? Json(ratio) : Json(nullptr);
    entry["model_bytes"] = row.summary.model_bytes;
    entry["minimum_bytes"] = row.summary.minimum_bytes;
    entry["gbytes_per_second"] = row.bytes_per_second() * 1e-9;
    entry["timed_rows"] = row.timed_rows;
    json["results"].push_back(std::move(entry));
  }
  json["skipped"] = Json::array();
  for (const SkippedKernel& skipped : report.skipped)
    json["skipped"].push_back({{"kernel", skipped.kernel}, {"reason", skipped.reason}});
  print_json(json);
}

}  // namespace exactile::program
