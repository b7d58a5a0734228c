// SPDX-License-Identifier: Apache-2.0
#include "cpu/peak.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "core/arithmetic.hpp"
#include "cpu/isa.hpp"
#include "cpu/micro/tile.hpp"
#include "cpu/threads/team.hpp"

namespace exactile::cpu {
namespace {

/// Independent chains of multiply-adds on a small array, for the types and processors without a loop of their own.
template <class T>
double portable_loop(std::int64_t rounds) {
  std::array<T, 64> sums{};
  const T factor = static_cast<T>(3);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (T& sum : sums) sum = core::multiply_add(sum, factor, static_cast<T>(1));
    asm volatile("" : : "r"(sums.data()) : "memory");  // each round's sums count as used
  }
  return 2.0 * static_cast<double>(sums.size()) * static_cast<double>(rounds);
}

using Loop = double (*)(std::int64_t rounds);

template <class T>
Loop floating_loop(const MicroKernels<T>& (*widest)()) {
  return widest == nullptr ? portable_loop<T> : widest().peak_loop;
}

Loop loop_for(ElementType accumulator) {
  const MicroKernels<float>& (*f32)() = nullptr;
  const MicroKernels<double>& (*f64)() = nullptr;
#if defined(__x86_64__)
  if (widest_isa() >= Isa::avx2) {
    f32 = widest_isa() >= Isa::avx512 ? avx512_f32 : avx2_f32;
    f64 = widest_isa() >= Isa::avx512 ? avx512_f64 : avx2_f64;
  }
#elif defined(__aarch64__)
  if (widest_isa() >= Isa::neon) {
    f32 = neon_f32;
    f64 = neon_f64;
  }
#endif
  switch (accumulator) {
    case ElementType::f64:
    case ElementType::cf64: return floating_loop(f64);
    case ElementType::i32: return portable_loop<std::int32_t>;
    case ElementType::i64: return portable_loop<std::int64_t>;
    default: return floating_loop(f32);
  }
}

/// Operations per second of one thread: the best of many short runs, because a peak is what nothing disturbed.
double one_thread(Loop loop) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  double best = 0;
  do {
    const auto begin = Clock::now();
    const double operations = loop(20000);
    best = std::max(best, operations / std::chrono::duration<double>(Clock::now() - begin).count());
  } while (Clock::now() < end);
  return best;
}

}  // namespace

Result<double> measure_peak(GemmTypes types, int, int threads) {
  threads = std::min(threads, 1024);  // more than a team ever has
  const Loop loop = loop_for(accumulator_type(types));
  std::vector<double> rates(static_cast<std::size_t>(threads), 0.0);
  run_team(threads, [&](const Member& member) {
    member.meet();
    rates[static_cast<std::size_t>(member.id)] = one_thread(loop);
  });
  double sum = 0;
  for (double rate : rates) sum += rate;
  return sum;
}

}  // namespace exactile::cpu
