// SPDX-License-Identifier: Apache-2.0
// exactile_certified FILE COMMIT: what the accuracies beyond standard, and `reproducible`, cost one thread, against
// products without them in the same rounds. FILE keeps to results/schema.json.
#include <fmt/chrono.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "exactile/exactile.hpp"
#include "exactile/value_or_throw.hpp"
#include "measure/rounds.hpp"
#include "measure/stopwatch.hpp"

namespace {

namespace measure = exactile::measure;
using Json = nlohmann::ordered_json;
using exactile::Accuracy;

/// One of the products that take turns. C = A B, all n x n.
class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual void run() = 0;
  std::string type, fill, accuracy;
};

template <class T>
class Product final : public Contestant {
 public:
  Product(std::int64_t n, const std::string& of, exactile::GemmOptions options)
      : plan_(make_plan(n, options)), a_(size(n * n)), b_(a_), c_(a_) {
    type = to_string(exactile::element_type_v<T>);
    fill = of;
    accuracy = std::string(to_string(options.accuracy)) + (options.reproducible ? ", reproducible" : "");
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (auto* operand : {&a_, &b_})
      for (T& x : *operand) x = static_cast<T>(of == "uniform" ? uniform(random) : normal(random));
    if (of == "cancelling" || of == "wide cancelling") cancel(n, of == "cancelling" ? 0 : 100, random);
  }

  void run() override { exactile::or_throw(plan_.run({.a = a_.data(), .b = b_.data(), .c = c_.data()})); }

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  static exactile::Plan make_plan(std::int64_t n, exactile::GemmOptions options) {
    exactile::GemmDescription d;
    d.types = {exactile::element_type_v<T>, exactile::element_type_v<T>};
    d.m = d.n = d.k = n;
    d.a = d.b = d.c = {.row_stride = n};
    options.backend = exactile::Backend::cpu;
    options.threads = 1;
    return exactile::value_or_throw(exactile::Plan::make(d, options));
  }

  /// The second half of the terms takes away what the first one has, but for 2^-20 of its last: every sum is in doubt.
  void cancel(std::int64_t n, int range, std::mt19937_64& random) {
    std::uniform_int_distribution<int> exponent(-range, range);
    const std::int64_t half = n / 2;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < half; ++k) {
        T& x = a_[size(i * n + k)];
        x = std::ldexp(x, exponent(random));
        a_[size(i * n + half + k)] = k + 1 < half ? x : x + std::ldexp(x, -20);
      }
    for (std::int64_t k = 0; k < half; ++k)
      for (std::int64_t j = 0; j < n; ++j) b_[size((half + k) * n + j)] = -b_[size(k * n + j)];
  }

  exactile::Plan plan_;
  std::vector<T> a_, b_, c_;
};

template <class T>
std::unique_ptr<Contestant> product(std::int64_t n, const std::string& fill, Accuracy accuracy, bool same = false) {
  return std::make_unique<Product<T>>(n, fill, exactile::GemmOptions{.accuracy = accuracy, .reproducible = same});
}

/// The first is the rival.
void race(std::int64_t n, const std::vector<std::unique_ptr<Contestant>>& all, double seconds, Json& rows) {
  std::vector<measure::Series> series;
  for (const auto& one : all)
    series.push_back({.time = [&one](std::int64_t calls) {
      return measure::seconds_of([&] {
        for (std::int64_t i = 0; i < calls; ++i) one->run();
      });
    }});
  measure::time_rounds(series, {.seconds = seconds / static_cast<double>(all.size())});
  const auto speed = [&](const measure::Series& of) {
    return 2.0 * std::pow(static_cast<double>(n), 3) / summarize(of).median * 1e-9;
  };
  const std::string rival = "exactile " + all.front()->type + " standard";
  for (std::size_t i = 1; i < all.size(); ++i) {
    rows.push_back({{"type", all[i]->type},
                    {"m", n},
                    {"n", n},
                    {"k", n},
                    {"accuracy", all[i]->accuracy},
                    {"fill", all[i]->fill},
                    {"gflops", {{"exactile", speed(series[i])}, {rival, speed(series[0])}}},
                    {"ratio", 1 / measure::ratio_of(series[i], series[0]).all},
                    {"rival", rival}});
    std::cout << rows.back().dump() << std::endl;
  }
}

void race_all(Json& rows) {
  for (const std::int64_t n : {512, 1024, 2048})
    for (const char* fill : {"normal", "uniform"}) {
      if (n != 512 && fill == std::string("uniform")) continue;
      std::vector<std::unique_ptr<Contestant>> all;
      all.push_back(product<double>(n, fill, Accuracy::standard));
      for (const Accuracy accuracy : {Accuracy::compensated, Accuracy::correctly_rounded}) {
        all.push_back(product<float>(n, fill, accuracy));
        all.push_back(product<double>(n, fill, accuracy));
      }
      race(n, all, n == 2048 ? 14 : 4, rows);
    }
  std::vector<std::unique_ptr<Contestant>> doubtful;
  doubtful.push_back(product<double>(1024, "normal", Accuracy::standard));
  for (const char* fill : {"cancelling", "wide cancelling"}) {
    doubtful.push_back(product<float>(1024, fill, Accuracy::correctly_rounded));
    doubtful.push_back(product<double>(1024, fill, Accuracy::correctly_rounded));
  }
  race(1024, doubtful, 1, rows);
  for (const std::int64_t n : {100, 512, 1024}) {
    std::vector<std::unique_ptr<Contestant>> both;
    both.push_back(product<float>(n, "normal", Accuracy::standard));
    both.push_back(product<float>(n, "normal", Accuracy::standard, true));
    race(n, both, 2, rows);
  }
}

std::string device_name() {
  for (const exactile::DeviceInfo& device : exactile::devices())
    if (device.backend == exactile::Backend::cpu) return device.name;
  return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: exactile_certified FILE COMMIT\n";
    return 2;
  }
  Json rows = Json::array();
  race_all(rows);
  const std::string date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  const Json file{
      {"schema", "exactile.results/1"},
      {"family", "CPU, accuracies beyond standard and reproducible"},
      {"device", {{"name", device_name()}, {"kind", "cpu"}, {"threads", 1}}},
      {"software", {{"compiler", __VERSION__}}},
      {"contenders", {{"exactile", argv[2]}, {"exactile f64 standard", argv[2]}, {"exactile f32 standard", argv[2]}}},
      {"commit", argv[2]},
      {"date", date},
      {"operands", "by rows, in host memory, the same in every round"},
      {"command", "exactile_certified FILE COMMIT"},
      {"provenance", {{"kind", "measured"}}},
      {"results", rows}};
  std::ofstream(argv[1]) << file.dump(1) << "\n";
  return 0;
}
