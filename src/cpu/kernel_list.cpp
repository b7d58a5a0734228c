// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernel_list.hpp"

#include <array>

#include "cpu/engine_entries.hpp"
#include "cpu/naive.hpp"
#include "cpu/portable.hpp"

namespace exactile::cpu {

std::span<const plan::KernelEntry> kernel_list() {
  static const std::array list{
      direct_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_direct"),
      stream_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_stream"),
      deep_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_deep"),
      packed_entry<Isa::avx512, float, avx512_f32, "avx512_f32_fma_12x32">(),
      direct_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_direct"),
      stream_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_stream"),
      deep_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_deep"),
      packed_entry<Isa::avx512, double, avx512_f64, "avx512_f64_fma_12x16">(),
      direct_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_direct"),
      stream_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_stream"),
      deep_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_deep"),
      packed_entry<Isa::avx2, float, avx2_f32, "avx2_f32_fma_6x16">(),
      direct_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_direct"),
      stream_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_stream"),
      deep_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_deep"),
      packed_entry<Isa::avx2, double, avx2_f64, "avx2_f64_fma_6x8">(),
      portable_entry(),
      naive_entry(),
  };
  return list;
}

}  // namespace exactile::cpu
