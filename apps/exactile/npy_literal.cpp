// SPDX-License-Identifier: Apache-2.0
#include "npy_literal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace exactile::program {
namespace {

/// NumPy 2 allows 64 dimensions; a header with more is not one.
constexpr std::size_t most_dimensions = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NpyLiteral parse() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (position_ != text_.size()) refuse("nothing after the closing brace");
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!seen_[i]) throw HeaderError(fmt::format("the header has no key '{}'", keys[i]));
    return std::move(literal_);
  }

 private:
  static constexpr std::array<std::string_view, 3> keys = {"descr", "fortran_order", "shape"};

  [[noreturn]] void refuse(std::string_view expected) const {
    throw HeaderError(fmt::format("the header is malformed at its byte {}: expected {}", position_, expected));
  }

  void skip_blanks() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  char peek() {
    skip_blanks();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted || position_ >= text_.size()) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) refuse(fmt::format("'{}'", wanted));
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  void entry() {
    const std::string key = quoted("a key in quotes");
    const auto found = std::find(keys.begin(), keys.end(), key);
    if (found == keys.end())
      throw HeaderError(fmt::format("the header has the key '{}'; expected descr, fortran_order and shape", key));
    const auto index = static_cast<std::size_t>(found - keys.begin());
    if (seen_[index]) throw HeaderError(fmt::format("the header has the key '{}' twice", key));
    seen_[index] = true;
    expect(':');
    switch (index) {
      case 0: descr(); break;
      case 1: fortran_order(); break;
      default: shape(); break;
    }
  }

  std::string quoted(std::string_view what) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse(what);
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) refuse("a closing quote");
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    if (content.find('\\') != std::string_view::npos) refuse("a text without backslashes");
    // They are repeated in messages, and a terminal would obey them.
    if (std::ranges::any_of(content, [](char c) { return c < ' ' || c > '~'; })) refuse("a text of printable ASCII");
    position_ = end + 1;
    return std::string(content);
  }

  void descr() {
    const char first = peek();
    if (first == '[') throw HeaderError("it holds a structured array (descr is a list); expected one number type");
    if (first == '(') throw HeaderError("it holds a sub-array type (descr is a tuple); expected one number type");
    literal_.descr = quoted("a type in quotes");
  }

  void fortran_order() {
    if (accept_word("True"))
      literal_.fortran_order = true;
    else if (!accept_word("False"))
      refuse("True or False for fortran_order");
  }

  std::int64_t dimension() {
    if (peek() == '-') throw HeaderError("the shape has a negative dimension; expected sizes of 0 or more");
    std::int64_t value = 0;
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range)
      throw HeaderError("the shape has a dimension that does not fit in 64 bits");
    if (error != std::errc()) refuse("a dimension of the shape");
    position_ += static_cast<std::size_t>(end - begin);
    accept('L');  // how Python 2 wrote long integers
    return value;
  }

  void shape() {
    expect('(');
    bool comma = false;
    while (!accept(')')) {
      if (!literal_.shape.empty() && !comma) refuse("',' or ')' in the shape");
      if (literal_.shape.size() == most_dimensions)
        throw HeaderError(fmt::format("the shape has more than {} dimensions", most_dimensions));
      literal_.shape.push_back(dimension());
      comma = accept(',');
    }
    if (literal_.shape.size() == 1 && !comma) refuse("a tuple for the shape, as (3,)");
  }

  std::string_view text_;
  std::size_t position_ = 0;
  NpyLiteral literal_;
  std::array<bool, 3> seen_ = {};
};

}  // namespace

NpyLiteral parse_npy_literal(std::string_view text) { return Parser(text).parse(); }

}  // namespace exactile::program
