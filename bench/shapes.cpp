// SPDX-License-Identifier: Apache-2.0
#include "shapes.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace exactile::bench {
namespace {

std::vector<std::int64_t> parse_sizes(const std::string& text, std::size_t expected, const char* form) {
  std::vector<std::int64_t> sizes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, 'x');) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1) break;
    sizes.push_back(size);
  }
  if (sizes.size() != expected) throw std::runtime_error("shape '" + text + "': expected " + form);
  return sizes;
}

/// The shape, whose operands have addresses.
Shape addressable(const Shape& shape, const std::string& text) {
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  constexpr double most_elements = 0x1p58;
  if (std::max({m * k, k * n, m * n}) * static_cast<double>(shape.batch) > most_elements)
    throw std::runtime_error("shape '" + text + "': its operands do not fit in 64 bits");
  return shape;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read shapes from " + path);
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    std::istringstream before_comment(line.substr(0, line.find('#')));
    for (std::string word; before_comment >> word;) words.push_back(word);
  }
  return words;
}

std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream parts(list);
  for (std::string word; std::getline(parts, word, ',');) words.push_back(word);
  return words;
}

}  // namespace

Shape parse_shape(const std::string& text) {
  const std::vector<std::int64_t> sizes = parse_sizes(text, 3, "MxNxK, each at least 1");
  return addressable({sizes[0], sizes[1], sizes[2], 1}, text);
}

Shape parse_batch(const std::string& text) {
  const std::vector<std::int64_t> sizes = parse_sizes(text, 4, "COUNTxMxNxK, each at least 1");
  return addressable({sizes[1], sizes[2], sizes[3], sizes[0]}, text);
}

ShapeGroup read_shapes(const std::string& file_or_list) {
  std::error_code no_such_name;  // a list may be longer than a name of a file
  const bool is_file = std::filesystem::is_regular_file(file_or_list, no_such_name);
  ShapeGroup group;
  group.name = is_file ? std::filesystem::path(file_or_list).stem().string() : "list";
  for (const std::string& word : is_file ? lines_of(file_or_list) : split_at_commas(file_or_list))
    group.shapes.push_back(parse_shape(word));
  return group;
}

std::string to_string(const Shape& shape) {
  const std::string sizes = std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  return shape.batch == 1 ? sizes : std::to_string(shape.batch) + "x" + sizes;
}

Product plain_product(const Shape& shape, GemmTypes types) {
  Product product;
  product.type = types.input;
  product.output = types.output;
  product.m = shape.m;
  product.n = shape.n;
  product.k = shape.k;
  product.batch = shape.batch;
  product.a = {.rows = shape.m, .leading = shape.k};
  product.b = {.rows = shape.k, .leading = shape.n};
  product.c = {.rows = shape.m, .leading = shape.n};
  return product;
}

}  // namespace exactile::bench
