// SPDX-License-Identifier: Apache-2.0
#include "cpu/isa.hpp"

#include <algorithm>

#include "core/environment.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace exactile::cpu {
namespace {

#if defined(__x86_64__)
/// AMX-BF16, AMX-TILE and AMX-INT8 are bits 22, 24 and 25 of EDX of leaf 7. Whether the system saves the registers is
/// for amx_is_permitted() to find.
bool has_amx() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned all = 1U << 22 | 1U << 24 | 1U << 25;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & all) == all;
}
#endif

#if defined(__x86_64__)
bool is_intel() noexcept {
  static const bool is_intel = (__builtin_cpu_init(), __builtin_cpu_is("intel") != 0);
  return is_intel;
}
bool is_amd() noexcept {
  static const bool is_amd = (__builtin_cpu_init(), __builtin_cpu_is("amd") != 0);
  return is_amd;
}
#else
bool is_intel() noexcept { return false; }
bool is_amd() noexcept { return false; }
#endif

Isa cap() noexcept {
  const auto name = core::environment("EXACTILE_MAX_ISA");
  return name ? isa_named(*name).value_or(Isa::amx) : Isa::amx;
}

Isa detected_isa() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool vnni = __builtin_cpu_supports("avx512vnni");
  const bool bf16 = __builtin_cpu_supports("avx512bf16");
  if (avx2 && avx512) {
    if (!vnni) return Isa::avx512;
    if (!bf16) return Isa::avx512_vnni;
    return has_amx() ? Isa::amx : Isa::avx512_bf16;
  }
  if (avx2) return Isa::avx2;
#elif defined(__aarch64__)
  return Isa::neon;
#endif
  return Isa::portable;
}

}  // namespace

Isa processor_isa() noexcept {
  // Once: in a virtual machine the hypervisor answers cpuid, for tens of microseconds.
  static const Isa isa = detected_isa();
  return isa;
}

std::string_view to_string(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable: return "portable";
    case Isa::neon: return "neon";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::avx512_vnni: return "avx512_vnni";
    case Isa::avx512_bf16: return "avx512_bf16";
    case Isa::amx: return "amx";
  }
  return "unknown";
}

std::optional<Isa> isa_named(std::string_view name) noexcept {
  for (const Isa isa : {Isa::portable, Isa::neon, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx})
    if (to_string(isa) == name) return isa;
  return std::nullopt;
}

Isa widest_isa() noexcept {
  static const Isa isa = [] {
    const Isa capped = std::min(processor_isa(), cap());
    const bool is_of_others = capped == Isa::neon && processor_isa() != Isa::neon;
    return is_of_others ? Isa::portable : capped;
  }();
  return isa;
}

bool amx_is_permitted() noexcept {
#if defined(__x86_64__) && defined(__linux__)
  static const bool is_permitted = [] {
    constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long tile_data = 18;
    return widest_isa() >= Isa::amx && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return is_permitted;
#else
  return false;
#endif
}

bool shuffles_delay_multiply_adds() noexcept { return is_intel(); }

bool reads_delay_multiply_adds() noexcept { return is_intel(); }

bool reads_one_stream_faster() noexcept { return is_amd(); }

std::string_view why_unavailable(Isa isa) noexcept {
  if (isa == Isa::amx && isa <= widest_isa() && !amx_is_permitted())
    return "the operating system does not let this process use AMX";
  if (isa <= widest_isa()) return {};
  if (isa <= processor_isa()) return "EXACTILE_MAX_ISA forbids this instruction set";
  switch (isa) {
    case Isa::amx: return "needs AMX, which this processor does not offer";
    case Isa::avx512_bf16: return "needs AVX-512 BF16 and VNNI, which this processor does not offer";
    case Isa::avx512_vnni: return "needs AVX-512 VNNI, which this processor does not offer";
    case Isa::avx512: return "needs AVX-512 F, BW, DQ and VL, which this processor does not offer";
    default: return "needs AVX2 and FMA, which this processor does not offer";
  }
}

}  // namespace exactile::cpu
