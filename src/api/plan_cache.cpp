// SPDX-License-Identifier: Apache-2.0
#include "api/plan_cache.hpp"

#include <pthread.h>

#include <array>
#include <new>
#include <optional>
#include <utility>

#include "core/thread_count.hpp"

namespace exactile::detail {
namespace {

constexpr int set_bits = 5;
constexpr std::size_t ways = 2;

struct Set {
  std::array<std::shared_ptr<const PlanState>, ways> plans;
  std::size_t oldest = 0;
};
using Sets = std::array<Set, std::size_t{1} << set_bits>;

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

/// Of what usually differs between the products of one program. The factors are odd numbers without a pattern.
std::size_t set_of(const GemmDescription& d) noexcept {
  const auto mixed = [](std::int64_t value, std::uint64_t factor) {
    return static_cast<std::uint64_t>(value) * factor;
  };
  const std::uint64_t sum = mixed(d.m, 0x9e3779b97f4a7c15U) + mixed(d.n, 0xbf58476d1ce4e5b9U) +
                            mixed(d.k, 0x94d049bb133111ebU) +
                            mixed(d.a.row_stride + 3 * d.a.column_stride, 0xd6e8feb86659fd93U) +
                            mixed(d.b.row_stride + 3 * d.b.column_stride, 0xa0761d6478bd642fU) +
                            mixed(static_cast<std::int64_t>(d.types.input), 0xe7037ed1a0b428dbU);
  return static_cast<std::size_t>(sum >> (64 - set_bits));
}

}  // namespace

const PlanState* remembered_plan(const GemmDescription& description, const GemmOptions& options) noexcept {
  if (mine == nullptr) return nullptr;
  for (const auto& plan : (*mine)[set_of(description)].plans)
    if (plan != nullptr && plan->description() == description && plan->options() == options)
      return plan->has_threads_of_now() ? plan.get() : nullptr;
  return nullptr;
}

void remember_plan(std::shared_ptr<const PlanState> plan) noexcept {
  if (mine == nullptr) {
    mine = new (std::nothrow) Sets;
    if (mine == nullptr) return;
    if (!forget_at_end_of_thread()) return forget_mine(nullptr);
  }
  Set& set = (*mine)[set_of(plan->description())];
  for (auto& old : set.plans)  // one whose number of threads is another now
    if (old != nullptr && old->description() == plan->description() && old->options() == plan->options())
      return void(old = std::move(plan));
  set.plans[set.oldest] = std::move(plan);
  set.oldest = (set.oldest + 1) % ways;
}

}  // namespace exactile::detail
