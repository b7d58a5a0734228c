// SPDX-License-Identifier: Apache-2.0
#include "report_data.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "exactile/types.hpp"
#include "failure.hpp"
#include "report_rows.hpp"
#include "terminal.hpp"
#include "text_file.hpp"

namespace exactile::program {
namespace {

constexpr std::string_view known_schemas[] = {"exactile.results/1", "exactile.choice/1", "exactile.bench/1",
                                              "exactile.ladder/1", "exactile.runs/1"};

/// Five digits: a page of thousands of rows need not carry more.
Json number_of(std::optional<double> value) {
  if (!value) return nullptr;
  return std::stod(fmt::format("{:.5g}", *value));
}

}  // namespace

/// Reads one run, or a file of several. `where` is what a message names.
class ReportReader {
 public:
  ReportReader(ReportData& data, const std::string& path, const Json& document, std::string where)
      : data_(data), path_(path), document_(document), where_(std::move(where)) {}

  void read() {
    const std::string schema = word(document_, "schema");
    // Both lie in results/ among the files that can be drawn.
    if (document_.find("$schema") != nullptr || schema == "exactile.training/1")
      return note("exactile: {}: {}; left out", printable(where_),
                  schema.empty() ? "is a JSON schema and holds no results" : "times no products");
    if (document_.members() == nullptr || schema.empty())
      refuse("names no schema; expected {}", fmt::join(known_schemas, ", "));
    if (std::ranges::find(known_schemas, schema) == std::end(known_schemas))
      refuse("its schema is {}; expected {}", printable(schema), fmt::join(known_schemas, ", "));
    if (schema == "exactile.runs/1") return read_runs();
    threads_ = device_threads();
    data_.runs_.push_back(run());
    for (const Json& result : list("results")) {
      ++result_;
      if (result.members() == nullptr) refuse("expected an object");
      if (schema == "exactile.results/1")
        read_result(result);
      else if (schema == "exactile.choice/1")
        read_choice(result);
      else
        read_measurement(result);
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    const std::string where = result_ == 0 ? where_ : fmt::format("{}, result {}", where_, result_);
    fail(Exit::bad_input, "{}: {}", where, fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] const std::vector<Json>& list(std::string_view key) const {
    const Json* const list = document_.find(key);
    if (list == nullptr || list->elements() == nullptr) refuse("{}: expected a list", key);
    return *list->elements();
  }

  void read_runs() {
    std::int64_t number = 0;
    for (const Json& run : list("runs"))
      ReportReader(data_, path_, run, fmt::format("{}, run {}", where_, ++number)).read();
  }

  [[nodiscard]] std::string word(const Json& from, std::string_view key) const {
    const Json* const value = from.find(key);
    if (value == nullptr) return {};
    if (value->text() == nullptr) refuse("{}: expected a text", key);
    return *value->text();
  }

  /// Nothing where there is none or null: a time that was not taken, say.
  [[nodiscard]] std::optional<double> number(const Json& from, std::string_view key) const {
    const Json* const value = from.find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    const std::optional<double> number = value->number();
    if (!number || !std::isfinite(*number) || *number < 0) refuse("{}: expected a number of 0 or more", key);
    return number;
  }

  [[nodiscard]] std::int64_t size(const Json& from, std::string_view key, std::optional<std::int64_t> otherwise = {}) {
    const std::optional<double> value = number(from, key);
    if (!value && otherwise) return *otherwise;
    constexpr double most = 0x1p53;
    if (!value || *value < 1 || *value > most || *value != std::floor(*value))
      refuse("{}: expected a whole number of at least 1", key);
    return static_cast<std::int64_t>(*value);
  }

  [[nodiscard]] std::optional<double> device_threads() const {
    const Json* const device = document_.find("device");
    return number(device != nullptr && device->members() != nullptr ? *device : document_, "threads");
  }

  /// What is told of the file as a whole.
  [[nodiscard]] Json run() {
    const Json* const device = document_.find("device");
    const bool is_object = device != nullptr && device->members() != nullptr;
    std::string name = is_object ? word(*device, "name") : word(document_, "device");
    if (name.empty()) name = "unknown device";
    const std::string family = word(document_, "family");
    Json run{{"device", name},
             {"file", std::filesystem::path(path_).filename().string()},
             {"family", family.empty() ? word(document_, "schema") : family}};
    if (threads_) run["threads"] = *threads_;
    for (const char* const key : {"date", "commit", "operands", "command"})
      if (const std::string text = word(document_, key); !text.empty()) run[key] = text;
    for (const char* const key : {"software", "contenders"})
      if (const Json* const value = document_.find(key)) run[key] = texts_of(*value, key);
    if (const Json* const value = document_.find("ceilings")) run["ceilings"] = ceilings_of(*value);
    return run;
  }

  [[nodiscard]] Json texts_of(const Json& object, std::string_view key) const {
    if (object.members() == nullptr) refuse("{}: expected an object of texts", key);
    Json texts = Json::object();
    for (const Json::Member& member : *object.members()) texts[member.key] = word(object, member.key);
    return texts;
  }

  [[nodiscard]] Json ceilings_of(const Json& object) const {
    Json ceilings = Json::object();
    if (const auto bandwidth = number(object, "gbytes_per_second")) ceilings["gbytes_per_second"] = *bandwidth;
    const Json* const gflops = object.find("gflops");
    if (gflops == nullptr || gflops->members() == nullptr) return ceilings;
    ceilings["gflops"] = Json::object();
    for (const Json::Member& member : *gflops->members())
      if (const auto peak = number(*gflops, member.key)) ceilings["gflops"][member.key] = *peak;
    return ceilings;
  }

  /// What every kind of result says of its product.
  [[nodiscard]] Product product_of(const Json& result) {
    Product row;
    row.type = word(result, "type");
    if (!parse_gemm_types(row.type)) refuse("type: {}: is not known", printable(row.type));
    row.m = size(result, "m");
    row.n = size(result, "n");
    row.k = size(result, "k");
    row.batch = size(result, "batch", 1);
    row.threads = number(result, "threads");
    if (!row.threads) row.threads = threads_;
    if (const std::string accuracy = word(result, "accuracy"); !accuracy.empty()) row.accuracy = accuracy;
    row.layout = word(result, "layout");
    if (const std::string fill = word(result, "fill"); !fill.empty())
      row.layout += (row.layout.empty() ? "" : ", ") + fill;
    row.memory = word(result, "memory");
    return row;
  }

  void read_result(const Json& result) {
    add(product_of(result));
    std::vector<std::string> contenders;
    for (const char* const key : {"gflops", "seconds", "norm_error"})
      if (const Json* const numbers = result.find(key)) {
        if (numbers->members() == nullptr) refuse("{}: expected an object with a number for each contender", key);
        for (const Json::Member& member : *numbers->members())
          if (std::ranges::find(contenders, member.key) == contenders.end()) contenders.push_back(member.key);
      }
    constexpr const char* ours = "exactile";
    if (std::ranges::find(contenders, ours) == contenders.end() && result.find("ratio") != nullptr)
      contenders.emplace_back(ours);
    for (const std::string& contender : contenders) {
      const auto of = [&](const char* key) {
        const Json* const numbers = result.find(key);
        return numbers == nullptr ? std::nullopt : number(*numbers, contender);
      };
      Row row{.contender = contender};
      row.gflops = of("gflops");
      row.seconds = of("seconds");
      row.spread = of("spread");
      row.error = of("norm_error");
      if (contender == ours) {
        row.kernel = word(result, "kernel");
        row.ratio = number(result, "ratio");
        row.rival = word(result, "rival");
        row.of_peak = number(result, "fraction_of_peak");
      }
      add(row);
    }
  }

  /// The planner's choice as ours, the fastest of all configurations as its rival.
  void read_choice(const Json& result) {
    const auto seconds = [&](const char* key) {
      const std::optional<double> microseconds = number(result, key);
      if (!microseconds || *microseconds == 0) refuse("{}: expected a number above 0", key);
      return *microseconds * 1e-6;
    };
    constexpr const char* fastest = "exactile, fastest configuration";
    Product product = product_of(result);
    Row choice{.contender = "exactile", .kernel = word(result, "choice")};
    choice.seconds = seconds("choice_us");
    choice.ratio = seconds("fastest_us") / *choice.seconds;
    choice.rival = fastest;
    const auto order = [&](const char* key) { return word(result, key) == "t"; };
    if (order("a") || order("b"))
      product.layout = order("a") && order("b") ? "A by columns, B by columns"
                       : order("a")             ? "A by columns"
                                                : "B by columns";
    Row best{.contender = fastest, .kernel = word(result, "fastest")};
    best.seconds = seconds("fastest_us");
    add(product);
    add(choice);
    add(best);
  }

  /// A row of `bench --json` or `ladder --json`.
  void read_measurement(const Json& result) {
    add(product_of(result));
    Row row{.contender = "exactile", .kernel = word(result, "kernel")};
    row.seconds = number(result, "median_seconds");
    row.gflops = number(result, "gflops");
    row.spread = number(result, "spread");
    row.error = number(result, "norm_error");
    row.of_peak = number(result, "fraction_of_peak");
    add(row);
  }

  void add(const Product& product) {
    const GemmTypes types = *parse_gemm_types(product.type);
    data_.types_.emplace(product.type, types);
    operations_ = operation_count(types, product.m, product.n, product.k) * static_cast<double>(product.batch);
    data_.products_.emplace_back(std::vector<Json>{std::ssize(data_.runs_) - 1, data_.word(product.type), product.m,
                                                   product.n, product.k, product.batch, number_of(product.threads),
                                                   data_.word(product.accuracy), data_.word(product.layout),
                                                   data_.word(product.memory)});
  }

  /// Of the product that was added last.
  void add(const Row& row) {
    const auto positive = [](std::optional<double> value) { return value && *value > 0 ? value : std::nullopt; };
    std::optional<double> gflops = positive(row.gflops);
    if (!gflops && positive(row.seconds)) gflops = operations_ / *row.seconds * 1e-9;
    const auto text = [&](const std::string& words) { return words.empty() ? Json() : Json(data_.word(words)); };
    std::vector<Json> values{std::ssize(data_.products_) - 1, data_.word(row.contender), number_of(gflops),
                             number_of(positive(row.error)),  number_of(row.spread),     text(row.kernel),
                             number_of(row.of_peak),          number_of(row.ratio),      text(row.rival)};
    while (values.back().is_null()) values.pop_back();
    data_.rows_.emplace_back(std::move(values));
  }

  ReportData& data_;
  const std::string& path_;
  const Json& document_;
  const std::string where_;
  std::int64_t result_ = 0;
  std::optional<double> threads_;
  double operations_ = 0;  ///< of the product that was added last
};

void ReportData::add(const std::string& path) {
  ReportReader(*this, path, parse_json(read_text(path), path), path).read();
}

std::int64_t ReportData::word(const std::string& text) {
  const auto [place, is_new] = numbers_of_words_.try_emplace(text, std::ssize(words_));
  if (is_new) words_.push_back(text);
  return place->second;
}

Json ReportData::json() const {
  constexpr std::int64_t most_products = 60;
  constexpr std::int64_t rows_at_first = 200;
  Json types = Json::object();
  for (const auto& [name, pair] : types_)
    types[name] = Json{{"operations", is_complex(pair.input) ? 8 : 2},
                       {"input", size_in_bytes(pair.input)},
                       {"output", size_in_bytes(pair.output)}};
  return Json{{"runs", Json(runs_)},           {"types", types},
              {"words", Json(words_)},         {"product_columns", Json(list_of(product_columns))},
              {"products", Json(products_)},   {"row_columns", Json(list_of(row_columns))},
              {"rows", Json(rows_)},           {"most_products", most_products},
              {"rows_at_first", rows_at_first}};
}

}  // namespace exactile::program
