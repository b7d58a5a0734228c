// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "terminal.hpp"

namespace exactile::program {
namespace {

using Printed = nlohmann::ordered_json;

struct ToPrinted {
  template <class T>
  Printed operator()(const T& value) const {
    return value;
  }
  Printed operator()(const std::vector<Json>& elements) const {
    Printed array = Printed::array();
    for (const Json& element : elements) array.push_back(element.visit(*this));
    return array;
  }
  Printed operator()(const std::vector<Json::Member>& members) const {
    Printed object = Printed::object();
    for (const Json::Member& member : members) object[member.key] = member.value.visit(*this);
    return object;
  }
};

}  // namespace

Json::Json(std::initializer_list<Member> members) : value_(std::vector<Member>(members)) {}

Json Json::array() { return std::vector<Json>(); }

Json Json::object() { return std::initializer_list<Member>(); }

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_.emplace<std::vector<Member>>();
  auto& members = std::get<std::vector<Member>>(value_);
  const auto found = std::ranges::find(members, key, &Member::key);
  if (found != members.end()) return found->value;
  return members.emplace_back(std::string(key), Json()).value;
}

void Json::update(const Json& object) {
  for (const Member& member : std::get<std::vector<Member>>(object.value_)) (*this)[member.key] = member.value;
}

void Json::push_back(Json element) { std::get<std::vector<Json>>(value_).push_back(std::move(element)); }

Json document(std::string_view command) { return Json{{"schema", fmt::format("exactile.{}/1", command)}}; }

void print_json(const Json& json) {
  write_result(json.visit(ToPrinted()).dump(2, ' ', false, Printed::error_handler_t::replace) + "\n");
}

}  // namespace exactile::program
