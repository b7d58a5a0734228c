// SPDX-License-Identifier: Apache-2.0
/// \file --json: versioned documents whose keys keep the order in which they were written. nlohmann's library prints
/// and reads them; its header is parsed by json.cpp alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace exactile::program {

/// A value of JSON. `Json{{"key", value}, ...}` is an object.
class Json {
 public:
  struct Member;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::initializer_list<Member> members);
  template <std::signed_integral T>
  Json(T value) : value_(std::int64_t{value}) {}
  template <std::unsigned_integral T>
  Json(T value) : value_(std::uint64_t{value}) {}
  template <class T>
  Json(const std::vector<T>& values) : value_(std::vector<Json>(values.begin(), values.end())) {}

  [[nodiscard]] static Json array();
  [[nodiscard]] static Json object();

  /// The member of an object; null at first. A null becomes an object.
  Json& operator[](std::string_view key);
  /// Sets these members, as operator[] would.
  void update(const Json& object);
  void push_back(Json element);
  /// One more member, which must not be there yet as far as operator[] and find() care: they see the first of a name.
  void add_member(std::string key, Json value);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  /// What it holds, or null where it holds something else.
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const std::vector<Json>* elements() const { return std::get_if<std::vector<Json>>(&value_); }
  [[nodiscard]] const std::vector<Member>* members() const { return std::get_if<std::vector<Member>>(&value_); }
  /// Of any kind of number; nothing of another value.
  [[nodiscard]] std::optional<double> number() const;
  /// The member of an object; null where there is none, or no object.
  [[nodiscard]] const Json* find(std::string_view key) const;

  /// Calls `visit` with what the value holds: null, a bool, a number, a string, elements or members.
  template <class Visitor>
  auto visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), value_);
  }

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, std::vector<Json>,
               std::vector<Member>>
      value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

/// The value that the text says. Throws Failure (bad input) with `name` and where the text is wrong: no JSON, or nested
/// more than 32 deep.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& name);

/// As JSON; `indent` -1 puts it on one line. NaN and infinities, which JSON does not have, come out as null.
[[nodiscard]] std::string json_text(const Json& json, int indent = 2);

/// A document of "exactile.<command>/1". The number rises when a key changes its meaning or goes.
[[nodiscard]] Json document(std::string_view command);

void print_json(const Json& json);

}  // namespace exactile::program
