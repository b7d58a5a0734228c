// SPDX-License-Identifier: Apache-2.0
#include "suite_file.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "exactile/accuracy.hpp"
#include "failure.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace exactile::program {
namespace {

using comparison::Product;
using Words = std::vector<std::string>;

/// Three or four sizes with x between them; empty where the word is none of that.
std::vector<std::int64_t> sizes_of(const std::string& word) {
  std::vector<std::int64_t> sizes;
  std::istringstream parts(word);
  for (std::string part; std::getline(parts, part, 'x');) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1) return {};
    sizes.push_back(size);
  }
  if (word.ends_with('x') || sizes.size() < 3 || sizes.size() > 4) return {};
  if (sizes.size() == 3) sizes.insert(sizes.begin(), 1);
  return sizes;
}

class Parser {
 public:
  Parser(const std::string& path, const Words& types, const std::string& accuracy, const std::string& fill,
         bool reproducible)
      : path_(path), reproducible_(reproducible) {
    set_types(types.empty() ? Words{"f32"} : types);
    set_accuracies(accuracy.empty() ? Words{"standard"} : Words{accuracy});
    set_fills(fill.empty() ? Words{"normal"} : Words{fill});
    types_are_settled_ = !types.empty();
    accuracy_is_settled_ = !accuracy.empty();
    fill_is_settled_ = !fill.empty();
  }

  Suite suite() {
    std::ifstream file(path_);
    if (!file) fail(Exit::bad_input, "{}: cannot be read; expected a suite of products", path_);
    for (std::string line; std::getline(file, line);) {
      ++line_;
      std::istringstream text(line.substr(0, line.find('#')));
      Words words;
      for (std::string word; text >> word;) words.push_back(word);
      if (!words.empty()) take(words);
    }
    if (products_.empty()) fail(Exit::bad_input, "{}: holds no product; expected lines such as 1024x1024x1024", path_);
    return {.name = std::move(name_), .products = std::move(products_)};
  }

 private:
  void take(const Words& words) {
    const Words rest(words.begin() + 1, words.end());
    if (words.front() == "family") {
      if (rest.empty()) refuse("family", "words after it");
      name_ = fmt::format("{}", fmt::join(rest, " "));
    } else if (words.front() == "types") {
      if (!types_are_settled_) set_types(rest);
    } else if (words.front() == "accuracies") {
      if (!accuracy_is_settled_) set_accuracies(rest);
    } else if (words.front() == "fills") {
      if (!fill_is_settled_) set_fills(rest);
    } else {
      add(words.front(), rest);
    }
  }

  void set_types(const Words& names) {
    types_.clear();
    for (const std::string& name : names) {
      const std::optional<GemmTypes> types = parse_gemm_types(name);
      if (!types) refuse(name, "a type: " + type_names());
      types_.push_back(*types);
    }
    if (types_.empty()) refuse("types", "one or more types after it");
  }

  void set_accuracies(const Words& names) {
    accuracies_.clear();
    for (const std::string& name : names) {
      const std::optional<Accuracy> accuracy = parse_accuracy(name);
      if (!accuracy) refuse(name, "reduced, standard, compensated or correctly_rounded");
      accuracies_.push_back(*accuracy);
    }
    if (accuracies_.empty()) refuse("accuracies", "one or more accuracies after it");
  }

  void set_fills(const Words& names) {
    fills_.clear();
    for (const std::string& name : names) {
      const std::optional<verification::Fill> fill = verification::parse_fill(name);
      if (!fill) refuse(name, "normal, uniform, small_integers, wide_range, cancelling or special_values");
      fills_.push_back(*fill);
    }
    if (fills_.empty()) refuse("fills", "one or more fills after it");
  }

  void add(const std::string& shape, const Words& layouts) {
    const std::vector<std::int64_t> sizes = sizes_of(shape);
    if (sizes.empty()) refuse(shape, "MxNxK or COUNTxMxNxK, each at least 1, or a line of types, accuracies or fills");
    SizeOptions options{.m = sizes[1], .n = sizes[2], .k = sizes[3], .batch = sizes[0]};
    for (const std::string& word : layouts) {
      if (word != "ta" && word != "tb") refuse(word, "ta or tb");
      (word == "ta" ? options.transpose_a : options.transpose_b) = true;
    }
    for (const GemmTypes types : types_)
      for (const Accuracy accuracy : accuracies_)
        for (const verification::Fill fill : fills_) add(describe(options, types), options, accuracy, fill);
  }

  void add(const GemmDescription& d, const SizeOptions& sizes, Accuracy accuracy, verification::Fill fill) {
    const auto stored = [](std::int64_t rows, std::int64_t columns, bool transposed) {
      return comparison::Layout{
          .rows = transposed ? columns : rows, .leading = transposed ? rows : columns, .transposed = transposed};
    };
    products_.push_back({.type = d.types.input,
                         .output = d.types.output,
                         .accuracy = accuracy,
                         .reproducible = reproducible_,
                         .m = d.m,
                         .n = d.n,
                         .k = d.k,
                         .batch = d.batch_count,
                         .a = stored(d.m, d.k, sizes.transpose_a),
                         .b = stored(d.k, d.n, sizes.transpose_b),
                         .c = stored(d.m, d.n, false),
                         .type_b = d.types.input_b,
                         .fill = fill});
  }

  [[noreturn]] void refuse(const std::string& word, const std::string& expected) const {
    if (line_ == 0) fail(Exit::bad_usage, "'{}': expected {}", word, expected);
    fail(Exit::bad_input, "{}, line {}: '{}': expected {}", path_, line_, printable(word), expected);
  }

  const std::string& path_;
  bool reproducible_;
  std::string name_ = std::filesystem::path(path_).stem().string();
  int line_ = 0;
  bool types_are_settled_ = false;
  bool accuracy_is_settled_ = false;
  bool fill_is_settled_ = false;
  std::vector<GemmTypes> types_;
  std::vector<Accuracy> accuracies_;
  std::vector<verification::Fill> fills_;
  std::vector<Product> products_;
};

}  // namespace

Suite read_suite(const std::string& path, const std::vector<std::string>& types, const std::string& accuracy,
                 const std::string& fill, bool reproducible) {
  std::error_code no_such_name;
  if (std::filesystem::is_directory(path, no_such_name))
    fail(Exit::bad_input, "{}: is a folder; expected a suite of products", path);
  return Parser(path, types, accuracy, fill, reproducible).suite();
}

std::string shape_text(const comparison::Product& p) {
  const std::string sizes = fmt::format("{}x{}x{}", p.m, p.n, p.k);
  return p.batch == 1 ? sizes : fmt::format("{}x{}", p.batch, sizes);
}

std::string layout_text(const comparison::Product& p) {
  if (!p.a.transposed && !p.b.transposed) return {};
  if (p.a.transposed && p.b.transposed) return "A by columns, B by columns";
  return p.a.transposed ? "A by columns" : "B by columns";
}

}  // namespace exactile::program
