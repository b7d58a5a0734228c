// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "failure.hpp"
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

/// Builds a Json from the parser's events.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    failure_ = fmt::format("is no JSON at byte {}", position);
    return false;
  }

  Json result;
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  /// A value whose end was not met, and the key of its next member.
  struct Open {
    Json value;
    std::string key = {};
  };

  bool put(Json value) {
    if (open_.empty())
      result = std::move(value);
    else if (open_.back().value.members() != nullptr)
      open_.back().value.add_member(std::move(open_.back().key), std::move(value));
    else
      open_.back().value.push_back(std::move(value));
    return true;
  }
  bool open(Json value) {
    constexpr std::size_t deepest = 32;
    if (open_.size() == deepest) failure_ = fmt::format("is nested more than {} deep", deepest);
    open_.push_back({std::move(value)});
    return failure_.empty();
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(value));
  }

  std::vector<Open> open_;
  std::string failure_;
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

void Json::add_member(std::string key, Json value) {
  std::get<std::vector<Member>>(value_).push_back({std::move(key), std::move(value)});
}

std::optional<double> Json::number() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  return std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  const auto* its_members = members();
  if (its_members == nullptr) return nullptr;
  const auto found = std::ranges::find(*its_members, key, &Member::key);
  return found == its_members->end() ? nullptr : &found->value;
}

Json parse_json(std::string_view text, const std::string& name) {
  Reader reader;
  if (!nlohmann::json::sax_parse(text, &reader))
    fail(Exit::bad_input, "{}: {}", name, reader.failure().empty() ? "is no JSON" : reader.failure());
  return std::move(reader.result);
}

std::string json_text(const Json& json, int indent) {
  return json.visit(ToPrinted()).dump(indent, ' ', false, Printed::error_handler_t::replace);
}

Json document(std::string_view command) { return Json{{"schema", fmt::format("exactile.{}/1", command)}}; }

void print_json(const Json& json) { write_result(json_text(json) + "\n"); }

}  // namespace exactile::program
