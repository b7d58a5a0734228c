// SPDX-License-Identifier: Apache-2.0
/// \file
/// Status and Result: how every call of the library answers.
///
/// The library never exits, aborts or prints, and no call throws because of what a caller passed in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace exactile {

/// What kind of trouble a call met. The sentence in Status::message() says the rest.
enum class StatusCode : std::uint8_t {
  ok,
  invalid_argument,    ///< an argument contradicts itself, another argument, or the documented range
  unknown_name,        ///< no kernel, backend or type of that name; the message lists those there are
  unsupported,         ///< meaningful, but no kernel on this machine can do it; the message says why
  not_yet_available,   ///< planned and documented, not built yet
  out_of_memory,       ///< host or device memory could not be had
  device_unavailable,  ///< the backend or device asked for cannot be used here
  device_failure,      ///< a device or vendor call failed while running
};

[[nodiscard]] std::string_view to_string(StatusCode code) noexcept;

/// Success, or a code and one sentence that names the argument, its value and what was expected.
/// A success costs one null pointer. Immutable; safe to copy between threads.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string message)
      : failure_(std::make_shared<const Failure>(Failure{code, std::move(message)})) {}

  [[nodiscard]] bool ok() const noexcept { return failure_ == nullptr; }
  [[nodiscard]] StatusCode code() const noexcept { return failure_ ? failure_->code : StatusCode::ok; }
  /// Empty when ok().
  [[nodiscard]] std::string_view message() const noexcept {
    return failure_ ? std::string_view(failure_->message) : std::string_view();
  }

 private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const Failure> failure_;
};

/// A value, or the Status that says why there is none.
///
///     const auto plan = exactile::Plan::make(description);
///     if (!plan) return plan.error();
///     return plan->run(arguments);
///
/// value(), * and -> may only be used when there is a value; value_or_throw.hpp has a check for programs that use
/// exceptions.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}         // NOLINT(*-explicit-*)
  Result(Status status) : content_(std::in_place_index<1>, std::move(status)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  [[nodiscard]] explicit operator bool() const noexcept { return ok(); }
  /// Success where there is a value.
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<1>(content_); }
  /// Why there is no value; only when there is none.
  [[nodiscard]] const Status& error() const { return std::get<1>(content_); }
  [[nodiscard]] T& value() & { return std::get<0>(content_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(content_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(content_)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::get<0>(std::move(content_)); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  /// The value, or `otherwise` where there is none.
  template <class U>
  [[nodiscard]] T value_or(U&& otherwise) const& {
    return ok() ? value() : static_cast<T>(std::forward<U>(otherwise));
  }
  template <class U>
  [[nodiscard]] T value_or(U&& otherwise) && {
    return ok() ? std::get<0>(std::move(content_)) : static_cast<T>(std::forward<U>(otherwise));
  }

 private:
  std::variant<T, Status> content_;
};

}  // namespace exactile
