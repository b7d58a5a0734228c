// SPDX-License-Identifier: Apache-2.0
/// \file The plans that a thread keeps, and the short way to a product that is over in nanoseconds.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <new>
#include <optional>

#include "blas/product.hpp"
#include "exactile/plan.hpp"

namespace exactile::blas {

enum class Kind : std::uint8_t { matrices, vectors };

/// What a plan is remembered by.
struct Key {
  Size m;
  Size n;
  Size k;
  Size a;  ///< leading dimension
  Size b;  ///< leading dimension or, of a vector, its step
  Size c;
  std::uint64_t form;  ///< see form_of(); 0 is no product's
  friend bool operator==(const Key&, const Key&) = default;
};

/// Type, operations, kind and threads in one number.
template <class T>
[[nodiscard]] constexpr std::uint64_t form_of(Kind kind, Op op_a, Op op_b, int threads) noexcept {
  return static_cast<std::uint64_t>(threads) << 8 | static_cast<std::uint64_t>(op_a) << 6 |
         static_cast<std::uint64_t>(op_b) << 4 | static_cast<std::uint64_t>(kind) << 3 |
         static_cast<std::uint64_t>(element_type_v<T> == ElementType::f64);
}

/// Each product has one place, where a later one of another shape takes the earlier one's. 512 plans of some 4 KiB are
/// the most that a thread holds: as many as a factorisation of a few thousand columns has shapes to come back to.
class Plans {
 public:
  struct Place {
    Key key{};
    std::optional<Plan> plan;
  };

  [[nodiscard]] Place& place(const Key& key) noexcept { return places_[hash(key) >> (64 - 9)]; }

  /// See scratch.hpp.
  [[nodiscard]] void* scratch(std::size_t bytes);

 private:
  /// Multiplicative, with odd factors: the top bits of the sum are the best mixed.
  [[nodiscard]] static std::uint64_t hash(const Key& key) noexcept {
    const auto mixed = [](Size x, Size y, Size z) {
      return static_cast<std::uint64_t>(x) ^ std::rotl(static_cast<std::uint64_t>(y), 21) ^
             std::rotl(static_cast<std::uint64_t>(z), 42);
    };
    return mixed(key.m, key.n, key.k) * 0x9e3779b97f4a7c15 +
           (mixed(key.a, key.b, key.c) ^ key.form << 12) * 0xc2b2ae3d27d4eb4f;
  }
  struct Free {
    void operator()(void* memory) const noexcept { ::operator delete (memory, std::align_val_t{64}); }
  };
  std::array<Place, 512> places_;
  std::unique_ptr<void, Free> scratch_;
  std::size_t scratch_bytes_ = 0;
};

// A pointer of its own, at a fixed distance from the thread's base, so that finding it is one instruction.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local Plans* thread_plans;

[[nodiscard]] void* thread_scratch(std::size_t bytes);

/// Threads of a product, as settled by the first; 0 before, and for good where each call is to be reported.
extern std::atomic<int> quick_threads;

/// Does the product where this thread has done its like before and it is over in nanoseconds; false where nothing has
/// happened.
template <class T>
[[nodiscard]] inline bool multiply_quickly(Kind kind, Op op_a, Op op_b, Size m, Size n, Size k, T alpha, const T* a,
                                           Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  if (thread_plans == nullptr) return false;
  const Key key{m, n, k, lda, ldb, ldc, form_of<T>(kind, op_a, op_b, quick_threads.load(std::memory_order_relaxed))};
  const Plans::Place& place = thread_plans->place(key);
  return place.key == key && place.plan->run_quickly(a, b, c, static_cast<double>(alpha), static_cast<double>(beta));
}

}  // namespace exactile::blas
