// SPDX-License-Identifier: Apache-2.0
/// \file --json: versioned documents whose keys keep the order in which they were written. nlohmann's library prints
/// them; its header is parsed by json.cpp alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

/// A document of "exactile.<command>/1". The number rises when a key changes its meaning or goes.
[[nodiscard]] Json document(std::string_view command);

/// NaN and infinities, which JSON does not have, come out as null.
void print_json(const Json& json);

}  // namespace exactile::program
