// SPDX-License-Identifier: Apache-2.0
#include "api/plan_cache.hpp"

#include <pthread.h>

#include <array>
#include <bit>
#include <new>
#include <optional>
#include <utility>

#include "exactile/detail/remembered.hpp"

namespace exactile::detail {
namespace {

constexpr int set_bits = 8;
constexpr std::size_t ways = 2;

/// Of the sizes and strides. The factors are odd numbers without a pattern.
std::size_t set_of(const PlainProduct& p) noexcept {
  const auto mixed = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return static_cast<std::uint64_t>(x) ^ std::rotl(static_cast<std::uint64_t>(y), 21) ^
           std::rotl(static_cast<std::uint64_t>(z), 42);
  };
  const std::uint64_t sum =
      mixed(p.m, p.n, p.k) * 0x9e3779b97f4a7c15U +
      mixed(p.a_row + 3 * p.a_column, p.b_row + 3 * p.b_column, p.c_row + 3 * p.c_column) * 0xc2b2ae3d27d4eb4fU;
  return static_cast<std::size_t>(sum >> (64 - set_bits));
}

struct Place {
  PlainProduct product{};  ///< form 0 where the plan's description says more
  std::shared_ptr<const PlanState> plan;
};
struct Set {
  std::array<Place, ways> places;
  std::size_t oldest = 0;
};
struct Sets {
  std::array<Set, std::size_t{1} << set_bits> sets;
  const Place* latest = &sets[0].places[0];  ///< that was found: without a sum of sizes a plan is there sooner

  [[nodiscard]] Set& of(const PlainProduct& product) noexcept { return sets[set_of(product)]; }
};

/// No destructor: products may run where a thread_local object that has one is gone already.
constinit thread_local Sets* mine = nullptr;

void forget_mine(void*) { delete std::exchange(mine, nullptr); }

/// A thread's values of a key are destroyed after its thread_local objects, and once more where a destructor has set
/// them anew. The thread that ends the process destroys none.
bool forget_at_end_of_thread() noexcept {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made = 0;
    return pthread_key_create(&made, forget_mine) == 0 ? std::optional(made) : std::nullopt;
  }();
  return key && pthread_setspecific(*key, mine) == 0;
}

bool is_single(const GemmDescription& d) noexcept {
  const auto is_matrix = [](const OperandLayout& layout) { return !layout.pointer_array && layout.batch_stride == 0; };
  return d.batch_count == 1 && !d.d && d.bias == Bias::none && d.activation == Activation::none && !d.row_scales &&
         !d.column_scales && is_matrix(d.a) && is_matrix(d.b) && is_matrix(d.c);
}

PlainProduct product_of(const GemmDescription& d, const GemmOptions& options) noexcept {
  const std::uint64_t form = is_single(d) && is_plain(options)
                                 ? plain_form(d.types, d.a.conjugate, d.b.conjugate, options.backend, options.threads)
                                 : 0;
  return {.m = d.m,
          .n = d.n,
          .k = d.k,
          .a_row = d.a.row_stride,
          .a_column = d.a.column_stride,
          .b_row = d.b.row_stride,
          .b_column = d.b.column_stride,
          .c_row = d.c.row_stride,
          .c_column = d.c.column_stride,
          .form = form};
}

bool is_of(const Place& place, const PlainProduct& product, const GemmDescription& description,
           const GemmOptions& options) noexcept {
  return place.plan != nullptr && place.product == product &&
         (product.form != 0 || (place.plan->description() == description && place.plan->options() == options));
}

const PlanState* current(const PlanState& plan) noexcept { return plan.is_of_now() ? &plan : nullptr; }

}  // namespace

const PlanState* find_plan(const PlainProduct& product) noexcept {
  if (mine == nullptr) return nullptr;
  if (mine->latest->product == product) return current(*mine->latest->plan);
  for (const Place& place : mine->of(product).places)
    if (place.product == product) return current(*(mine->latest = &place)->plan);
  return nullptr;
}

const PlanState* remembered_plan(const GemmDescription& description, const GemmOptions& options) noexcept {
  if (mine == nullptr) return nullptr;
  const PlainProduct product = product_of(description, options);
  for (const Place& place : mine->of(product).places)
    if (is_of(place, product, description, options)) return current(*place.plan);
  return nullptr;
}

void remember_plan(std::shared_ptr<const PlanState> plan) noexcept {
  if (mine == nullptr) {
    mine = new (std::nothrow) Sets;
    if (mine == nullptr) return;
    if (!forget_at_end_of_thread()) return forget_mine(nullptr);
  }
  const PlainProduct product = product_of(plan->description(), plan->options());
  Set& set = mine->of(product);
  for (Place& place : set.places)  // one that is not of now
    if (is_of(place, product, plan->description(), plan->options())) return void(place.plan = std::move(plan));
  set.places[set.oldest] = {product, std::move(plan)};
  set.oldest = (set.oldest + 1) % ways;
}

}  // namespace exactile::detail
