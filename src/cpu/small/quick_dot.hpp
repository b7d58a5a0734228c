// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/arithmetic.hpp"
#include "plan/quick_call.hpp"

namespace exactile::cpu {

/// What a plan holds of a dot product of real floats that one thread does at once, see QuickCall.
template <class T>
struct QuickDot {
  T (*dot)(const T* w, const T* x, std::int64_t terms);
  std::int64_t terms;

  /// The vectors may be exchanged.
  static void run(const plan::QuickCall& call, const void* a, const void* b, void* c, double alpha, double beta) {
    const auto& quick = call.as<QuickDot>();
    auto& element = *static_cast<T*>(c);
    const T value = static_cast<T>(alpha) * quick.dot(static_cast<const T*>(a), static_cast<const T*>(b), quick.terms);
    element = beta == 0 ? value : core::add_scaled(static_cast<T>(beta), element, value);
  }
};

}  // namespace exactile::cpu
