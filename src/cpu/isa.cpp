// SPDX-License-Identifier: Apache-2.0
#include "cpu/isa.hpp"

#include <algorithm>

#include "core/environment.hpp"

namespace exactile::cpu {
namespace {

Isa processor_isa() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool vnni = __builtin_cpu_supports("avx512vnni");
  const bool bf16 = __builtin_cpu_supports("avx512bf16");
  if (avx2 && avx512) return !vnni ? Isa::avx512 : bf16 ? Isa::avx512_bf16 : Isa::avx512_vnni;
  if (avx2) return Isa::avx2;
#endif
  return Isa::portable;
}

bool is_intel() noexcept {
#if defined(__x86_64__)
  static const bool is_intel = (__builtin_cpu_init(), __builtin_cpu_is("intel") != 0);
  return is_intel;
#else
  return false;
#endif
}

Isa cap() noexcept {
  const auto name = core::environment("EXACTILE_MAX_ISA");
  return name ? isa_named(*name).value_or(Isa::avx512_bf16) : Isa::avx512_bf16;
}

}  // namespace

std::string_view to_string(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable: return "portable";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::avx512_vnni: return "avx512_vnni";
    case Isa::avx512_bf16: return "avx512_bf16";
  }
  return "unknown";
}

std::optional<Isa> isa_named(std::string_view name) noexcept {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16})
    if (to_string(isa) == name) return isa;
  return std::nullopt;
}

Isa widest_isa() noexcept {
  static const Isa isa = std::min(processor_isa(), cap());
  return isa;
}

bool shuffles_delay_multiply_adds() noexcept { return is_intel(); }

bool reads_delay_multiply_adds() noexcept { return is_intel(); }

std::string_view why_unavailable(Isa isa) noexcept {
  if (isa <= widest_isa()) return {};
  if (isa <= processor_isa()) return "EXACTILE_MAX_ISA forbids this instruction set";
  switch (isa) {
    case Isa::avx512_bf16: return "needs AVX-512 BF16 and VNNI, which this processor does not offer";
    case Isa::avx512_vnni: return "needs AVX-512 VNNI, which this processor does not offer";
    case Isa::avx512: return "needs AVX-512 F, BW, DQ and VL, which this processor does not offer";
    default: return "needs AVX2 and FMA, which this processor does not offer";
  }
}

}  // namespace exactile::cpu
