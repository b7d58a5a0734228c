// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernel_list.hpp"

#include <array>

#include "cpu/engine_entries.hpp"
#include "cpu/naive.hpp"
#include "cpu/portable.hpp"
#include "cpu/vector_entries.hpp"

namespace exactile::cpu {

std::span<const plan::KernelEntry> kernel_list() {
  static const std::array list{
      vector_entry<Isa::avx512, float>("avx512_f32_vectors"),
      vector_entry<Isa::avx512, double>("avx512_f64_vectors"),
      vector_entry<Isa::avx512, Float16>("avx512_f16_vectors"),
      vector_entry<Isa::avx512, BFloat16>("avx512_bf16_vectors"),
      vector_entry<Isa::avx512, Float8E4M3>("avx512_f8e4m3_vectors"),
      vector_entry<Isa::avx512, Float8E5M2>("avx512_f8e5m2_vectors"),
      vector_entry<Isa::avx512, std::int8_t>("avx512_i8_vectors"),
      vector_entry<Isa::avx512, std::int32_t>("avx512_i32_vectors"),
      vector_entry<Isa::avx512, std::int64_t>("avx512_i64_vectors"),
      vector_entry<Isa::avx512, std::complex<float>>("avx512_cf32_vectors"),
      vector_entry<Isa::avx512, std::complex<double>>("avx512_cf64_vectors"),
      direct_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_direct"),
      stream_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_stream"),
      deep_entry<Isa::avx512, float, avx512_f32>("avx512_f32_fma_deep"),
      packed_entry<Isa::avx512, float, avx512_f32, "avx512_f32_fma_12x32">(),
      direct_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_direct"),
      stream_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_stream"),
      deep_entry<Isa::avx512, double, avx512_f64>("avx512_f64_fma_deep"),
      packed_entry<Isa::avx512, double, avx512_f64, "avx512_f64_fma_12x16">(),
      near_bf16_entry<Isa::avx512_bf16, avx512_bf16_pairs, avx512_bf16>("avx512_bf16_pairs_near"),
      bf16_entry<Isa::avx512_bf16, avx512_bf16_pairs, avx512_bf16, "avx512_bf16_pairs_12x32">(),
      near_entry<Isa::avx512, Widened<BFloat16>, avx512_bf16>("avx512_bf16_widened_near"),
      packed_entry<Isa::avx512, Widened<BFloat16>, avx512_bf16, "avx512_bf16_widened_12x32">(),
      near_entry<Isa::avx512, Widened<Float16>, avx512_f16>("avx512_f16_widened_near"),
      packed_entry<Isa::avx512, Widened<Float16>, avx512_f16, "avx512_f16_widened_12x32">(),
      near_entry<Isa::avx512, Widened<Float8E4M3>, avx512_f8e4m3>("avx512_f8e4m3_widened_near"),
      packed_entry<Isa::avx512, Widened<Float8E4M3>, avx512_f8e4m3, "avx512_f8e4m3_widened_12x32">(),
      near_entry<Isa::avx512, Widened<Float8E5M2>, avx512_f8e5m2>("avx512_f8e5m2_widened_near"),
      packed_entry<Isa::avx512, Widened<Float8E5M2>, avx512_f8e5m2, "avx512_f8e5m2_widened_12x32">(),
      near_entry<Isa::avx512_vnni, I8Quads, avx512_vnni_i8>("avx512_vnni_i8_near"),
      packed_entry<Isa::avx512_vnni, I8Quads, avx512_vnni_i8, "avx512_vnni_i8_12x32">(),
      near_entry<Isa::avx512, I8Pairs, avx512_i8>("avx512_i8_pairs_near"),
      packed_entry<Isa::avx512, I8Pairs, avx512_i8, "avx512_i8_pairs_12x32">(),
      vector_entry<Isa::avx2, float>("avx2_f32_vectors"),
      vector_entry<Isa::avx2, double>("avx2_f64_vectors"),
      vector_entry<Isa::avx2, Float16>("avx2_f16_vectors"),
      vector_entry<Isa::avx2, BFloat16>("avx2_bf16_vectors"),
      vector_entry<Isa::avx2, Float8E4M3>("avx2_f8e4m3_vectors"),
      vector_entry<Isa::avx2, Float8E5M2>("avx2_f8e5m2_vectors"),
      vector_entry<Isa::avx2, std::int8_t>("avx2_i8_vectors"),
      vector_entry<Isa::avx2, std::int32_t>("avx2_i32_vectors"),
      vector_entry<Isa::avx2, std::int64_t>("avx2_i64_vectors"),
      vector_entry<Isa::avx2, std::complex<float>>("avx2_cf32_vectors"),
      vector_entry<Isa::avx2, std::complex<double>>("avx2_cf64_vectors"),
      direct_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_direct"),
      stream_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_stream"),
      deep_entry<Isa::avx2, float, avx2_f32>("avx2_f32_fma_deep"),
      packed_entry<Isa::avx2, float, avx2_f32, "avx2_f32_fma_6x16">(),
      direct_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_direct"),
      stream_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_stream"),
      deep_entry<Isa::avx2, double, avx2_f64>("avx2_f64_fma_deep"),
      packed_entry<Isa::avx2, double, avx2_f64, "avx2_f64_fma_6x8">(),
      near_entry<Isa::avx2, Widened<BFloat16>, avx2_bf16>("avx2_bf16_widened_near"),
      packed_entry<Isa::avx2, Widened<BFloat16>, avx2_bf16, "avx2_bf16_widened_6x16">(),
      near_entry<Isa::avx2, Widened<Float16>, avx2_f16>("avx2_f16_widened_near"),
      packed_entry<Isa::avx2, Widened<Float16>, avx2_f16, "avx2_f16_widened_6x16">(),
      near_entry<Isa::avx2, Widened<Float8E4M3>, avx2_f8e4m3>("avx2_f8e4m3_widened_near"),
      packed_entry<Isa::avx2, Widened<Float8E4M3>, avx2_f8e4m3, "avx2_f8e4m3_widened_6x16">(),
      near_entry<Isa::avx2, Widened<Float8E5M2>, avx2_f8e5m2>("avx2_f8e5m2_widened_near"),
      packed_entry<Isa::avx2, Widened<Float8E5M2>, avx2_f8e5m2, "avx2_f8e5m2_widened_6x16">(),
      near_entry<Isa::avx2, I8Pairs, avx2_i8>("avx2_i8_pairs_near"),
      packed_entry<Isa::avx2, I8Pairs, avx2_i8, "avx2_i8_pairs_6x16">(),
      portable_entry(),
      naive_entry(),
  };
  return list;
}

}  // namespace exactile::cpu
