// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace exactile::cpu {

/// Instruction sets the kernels are built for: AArch64's, and those of x86-64, each a superset of the one before. A
/// build has the kernels of one architecture.
enum class Isa : std::uint8_t { portable, neon, avx2, avx512, avx512_vnni, avx512_bf16, amx };

inline constexpr std::string_view isa_names = "portable, avx2, avx512, avx512_vnni, avx512_bf16, amx or neon";

[[nodiscard]] std::string_view to_string(Isa isa) noexcept;
/// The set that to_string() calls so, if there is one.
[[nodiscard]] std::optional<Isa> isa_named(std::string_view name) noexcept;

/// The widest set this processor offers.
[[nodiscard]] Isa processor_isa() noexcept;

/// The widest set this processor and operating system offer, cut to EXACTILE_MAX_ISA (one of isa_names).
[[nodiscard]] Isa widest_isa() noexcept;

/// Whether a shuffle of a whole AVX-512 register takes the place of a multiply-add: Intel's processors do both on one
/// of two ports, AMD's have others for shuffles.
[[nodiscard]] bool shuffles_delay_multiply_adds() noexcept;

/// Whether reads are what multiply-adds wait for where two threads share a core, as they do on Intel's processors: each
/// then has half of L1, of the reads a cycle, and of what may wait for them.
[[nodiscard]] bool reads_delay_multiply_adds() noexcept;

/// Whether memory is read faster in one stream than in several that walk side by side within a page, as it is on AMD's
/// processors: Zen 4 reads lines of 1 KiB one after the other twice as fast as eight at a time, where an Emerald Rapids
/// takes 1.1 times as long. Zen 3 and 5 were not measured.
[[nodiscard]] bool reads_one_stream_faster() noexcept;

/// Whether the system lets this process use the tile registers of AMX, which it is asked when this is called first:
/// what a thread keeps of them on its stack in a signal handler is more than some programs set aside.
[[nodiscard]] bool amx_is_permitted() noexcept;

/// Why kernels of `isa` cannot run here; empty if they can.
[[nodiscard]] std::string_view why_unavailable(Isa isa) noexcept;

}  // namespace exactile::cpu
